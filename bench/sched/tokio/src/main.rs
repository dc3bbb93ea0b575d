// SPDX-License-Identifier: MIT
// tokio with its clock paused, beside us: yields, spawns, and 100,000 tasks through a virtual hour.
use std::time::{Duration, Instant};

fn best(rounds: u32, mut f: impl FnMut() -> f64) -> f64 {
    (0..rounds).map(|_| f()).fold(f64::MAX, f64::min)
}

fn main() {
    let rt = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    for (name, tasks) in [("step_10_fifo_ns", 10u64), ("step_1000_fifo_ns", 1000)] {
        let yields = 1_000_000 / tasks;
        let ns = best(5, || {
            let t = Instant::now();
            rt.block_on(async {
                let all: Vec<_> = (0..tasks)
                    .map(|_| {
                        tokio::spawn(async move {
                            for _ in 0..yields {
                                tokio::task::yield_now().await;
                            }
                        })
                    })
                    .collect();
                for h in all {
                    h.await.unwrap();
                }
            });
            t.elapsed().as_nanos() as f64 / (tasks * yields) as f64
        });
        println!("{} {:.1}", name, ns);
    }
    let ns = best(5, || {
        let t = Instant::now();
        rt.block_on(async {
            for _ in 0..100_000 {
                tokio::spawn(async {}).await.unwrap();
            }
        });
        t.elapsed().as_nanos() as f64 / 100_000.0
    });
    println!("spawn_run_join_ns {:.1}", ns);
    let ms = best(5, || {
        let t = Instant::now();
        rt.block_on(async {
            let all: Vec<_> = (0..100_000)
                .map(|_| tokio::spawn(tokio::time::sleep(Duration::from_secs(3600))))
                .collect();
            for h in all {
                h.await.unwrap();
            }
        });
        t.elapsed().as_nanos() as f64 / 1e6
    });
    println!("sleepers_100k_ms {:.1}", ms);
}
