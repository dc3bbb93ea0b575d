# What the scripts of bench/ share, sourced by them.
row() { # row WHAT MEASURED TARGET CONDITION-FOR-AWK
    local verdict=MISSED
    awk "BEGIN { exit !($4) }" && verdict=ok
    echo "$1|$2|$3|$verdict"
}
calc() { awk "BEGIN { printf \"$1\", $2 }"; }
medians() { # medians ROUNDS COMMAND... [:: COMMAND...]: sets m1, m2, ... (real ns) and c1, c2, ... (CPU ns)
    local i=0 real cpu
    while read -r real cpu; do
        i=$((i + 1))
        printf -v "m$i" %s "$real"
        printf -v "c$i" %s "$cpu"
    done < <("$bench" time "$@")
    [ $i -gt 0 ]
}
