# Cron and time zones, held against Python's zone reader and against croniter.
. "$(dirname "$0")/../lib/tap.sh"
cron_next=$TOP/$O/examples/cron_next
oracle=$TOP/tests/e2e/cron_oracle.py

test_that "times in zones are those of a minute-by-minute search with another reader of zone files" '
    need python3
    python3 -c "import zoneinfo; zoneinfo.ZoneInfo(\"Europe/Berlin\")" 2>/dev/null || skip "python3 has no time zones"
    python3 "$oracle" "$cron_next" zones || fail "they differ"'

test_that "times in UTC are those of croniter" '
    for python in python3 /usr/bin/python3; do
        "$python" -c "import croniter" 2>/dev/null || continue
        "$python" "$oracle" "$cron_next" croniter || fail "they differ"
        exit 0
    done
    skip "python3-croniter is not installed (tools/deps test)"'

test_that "every zone of the machine is read, and agrees with Python at its changes" '
    need python3
    python3 -c "import zoneinfo; zoneinfo.ZoneInfo(\"Europe/Berlin\")" 2>/dev/null || skip "python3 has no time zones"
    python3 - "$cron_next" <<"PYTHON"
import datetime, subprocess, sys, zoneinfo
names = sorted(n for n in zoneinfo.available_timezones() if n not in ("localtime", "posixrules", "Factory"))
bad = 0
for name in names:
    zone = zoneinfo.ZoneInfo(name)
    out = subprocess.run([sys.argv[1], "@every 1103h7m13s", name, "1000", "500"], capture_output=True, text=True)
    lines = out.stdout.splitlines()
    bad += len(lines) != 500
    for line in lines:
        text, abbreviation, seconds = line.split()
        t = datetime.datetime.fromtimestamp(int(seconds), datetime.timezone.utc).astimezone(zone)
        if t.strftime("%Y-%m-%dT%H:%M:%S%z")[:24] != text or t.tzname() != abbreviation:
            print(name, line, t.strftime("%Y-%m-%dT%H:%M:%S%z"), t.tzname()); bad += 1; break
print(len(names), "zones", bad, "differ")
sys.exit(bad != 0 or len(names) < 300)
PYTHON'

test_that "a wrong text is refused with its column" '
    run "$cron_next" "61 * * * *" UTC 0 1
    status_is 1; err_has "column 1, minute: 61 is not from 0 to 59"
    run "$cron_next" "* * * * *" Europe/Berln 0 1
    status_is 1; err_has "did you mean '\''Europe/Berlin'\''"'
tap_done
