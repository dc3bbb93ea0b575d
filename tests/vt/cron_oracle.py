# Cron by brute force: every minute of a window, in a zone that Python reads, against what cron_next says; and times
# in UTC against croniter, where it is installed. Prints one line for each difference; the closing line counts.
import datetime, random, subprocess, sys
from zoneinfo import ZoneInfo

program, what = sys.argv[1:3]
MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
DAYS = "sun mon tue wed thu fri sat".split()


def ask(text, zone, start, count):
    out = subprocess.run([program, text, zone, str(start), str(count)], capture_output=True, text=True, check=True).stdout
    return [int(line.split()[2]) for line in out.splitlines()]


def expand(field, low, high, names=()):
    out = set()
    for item in field.split(","):
        item, _, step = item.partition("/")
        first, _, last = item.partition("-")
        number = lambda word, base: names.index(word) + base if word in names else int(word)
        base = 1 if names is MONTHS else 0
        if item == "*":
            a, b = low, high
        else:
            a = number(first, base)
            b = number(last, base) if last else a
        out |= set(range(a, b + 1, int(step or 1)))
    return out


class Cron:
    def __init__(self, text):
        f = text.split()
        self.minute, self.hour = expand(f[0], 0, 59), expand(f[1], 0, 23)
        self.day, self.month = expand(f[2], 1, 31), expand(f[3], 1, 12, MONTHS)
        self.weekday = {d % 7 for d in expand(f[4], 0, 6, DAYS)}
        self.any_star = f[2][0] == "*" or f[4][0] == "*"
        self.hourly = len(self.hour) == 24

    def match(self, t):
        if t.minute not in self.minute or t.hour not in self.hour or t.month not in self.month or t.second:
            return False
        day, weekday = t.day in self.day, (t.isoweekday() % 7) in self.weekday
        return day and weekday if self.any_star else day or weekday


def window(zone, start, days):
    """Every minute with its local time and whether it follows a change, and by how much."""
    tz, utc, rows, last = ZoneInfo(zone), datetime.timezone.utc, [], None
    for s in range(start - start % 60, start + days * 86400, 60):
        t = datetime.datetime.fromtimestamp(s, utc).astimezone(tz)
        offset = int(t.utcoffset().total_seconds())
        rows.append((s, t, last if last is not None and offset > last else None, offset))
        last = offset
    return rows


def brute(text, rows, start, until):
    cron, ticks = Cron(text), []
    for s, t, before, offset in rows:
        if s <= start or s >= until:
            continue
        tick = cron.match(t) and (cron.hourly or t.fold == 0)
        if before is not None and not cron.hourly:
            wall = datetime.datetime.fromtimestamp(s + before, datetime.timezone.utc)
            for _ in range((offset - before) // 60):
                tick = tick or cron.match(wall)
                wall += datetime.timedelta(minutes=1)
        if tick:
            ticks.append(s)
    return ticks


def at(text):
    return int(datetime.datetime.fromisoformat(text + "+00:00").timestamp())


cases = bad = 0
if what == "zones":
    windows = [("Europe/Berlin", "2026-03-20"), ("Europe/Berlin", "2026-10-15"), ("America/New_York", "2026-03-01"),
               ("America/New_York", "2026-10-25"), ("Australia/Lord_Howe", "2026-03-25"), ("Australia/Lord_Howe", "2026-09-25"),
               ("America/St_Johns", "2010-10-30"), ("America/St_Johns", "2010-03-01"), ("Pacific/Apia", "2011-12-20"),
               ("Africa/Casablanca", "2026-02-10"), ("America/Sao_Paulo", "2017-10-05"), ("America/Sao_Paulo", "2018-02-10"),
               ("Antarctica/Troll", "2026-03-20"), ("Asia/Tehran", "2022-03-15"), ("Europe/Dublin", "2045-03-15"),
               ("Europe/Berlin", "2045-10-20"), ("Africa/Cairo", "2050-10-20"), ("Asia/Kolkata", "2026-01-01"),
               ("Pacific/Kwajalein", "1993-08-15"), ("America/Santiago", "2100-03-28"), ("America/Godthab", "2023-03-20")]
    texts = ["* * * * *", "30 2 * * *", "0 */2 * * *", "15,45 * * * *", "0 0 * * *", "59 23 * * *", "*/20 0-3 * * *",
             "30 1 1-7 * mon", "0 12 */2 * tue", "5 4 * mar,oct fri-sat"]
    for zone, start in windows:
        rows, until = window(zone, at(start), 20), at(start) + 20 * 86400
        for text in texts:
            start_s = at(start) + random.Random(zone + text).randrange(86400)
            wanted = brute(text, rows, start_s, until)
            got = [s for s in ask(text, zone, start_s, len(wanted) + 1) if s < until]
            cases += len(wanted)
            if got != wanted:
                bad += 1
                first = sorted(set(got) ^ set(wanted))[:1]
                print(f"{text!r} in {zone} from {start_s}: {len(got)} times, not {len(wanted)}; first difference {first}")
else:
    from croniter import croniter
    chance = random.Random(7)

    def field(low, high, star=0.4, names=()):
        if chance.random() < star:
            return "*"
        a = chance.randint(low, high)
        b = chance.randint(a, high)
        return chance.choice([str(a), f"{a}-{b}", f"{low}-{high}/{chance.randint(2, 5)}",
                              ",".join(sorted({str(chance.randint(low, high)) for _ in range(3)}, key=int)),
                              names[a - low] if names and a - low < len(names) else str(a)])

    for _ in range(300):
        text = " ".join([field(0, 59), field(0, 23), field(1, 28), field(1, 12, 0.6, MONTHS), field(0, 6, 0.5, DAYS)])
        start = at("2024-01-01") + chance.randrange(4 * 365 * 86400)
        reference = croniter(text, start)
        wanted = [int(reference.get_next()) for _ in range(12)]
        got = ask(text, "UTC", start, 12)
        cases += len(wanted)
        if got != wanted:
            bad += 1
            print(f"{text!r} from {start}: {got[:3]}, not {wanted[:3]}")
print(f"{cases} times, {bad} schedules differ")
sys.exit(bad != 0 or cases < 1000)
