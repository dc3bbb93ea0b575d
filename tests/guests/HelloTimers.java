// A Java program with a sleep and a scheduled task.
import java.time.Instant;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

public class HelloTimers {
    public static void main(String[] args) throws Exception {
        System.out.println(Instant.now());
        Thread.sleep(60_000);
        System.out.println(Instant.now());
        ScheduledExecutorService executor = Executors.newScheduledThreadPool(1);
        executor.schedule(() -> System.out.println("task " + Instant.now()), 2, TimeUnit.MINUTES).get();
        executor.shutdown();
    }
}
