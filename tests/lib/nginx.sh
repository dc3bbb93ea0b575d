# nginx.sh: a real HTTP cache server for tests, on a port of its own.
#
#     nginx_start DIR     serves DIR/www with PUT allowed; sets nginx_url and nginx_pid
#     nginx_stop          ends it, by its pid
#
# The port is one the kernel gave out a moment ago; should somebody take it meanwhile, another is
# tried. Ready means that a connection was accepted: no time is waited for.
free_port() {
    perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1", LocalPort => 0)->sockport'
}

nginx_conf() { # nginx_conf DIR PORT
    [ "$(id -u)" != 0 ] || echo "user root;"
    cat <<CONF
daemon off;
pid $1/nginx.pid;
error_log $1/error.log;
worker_processes 1;
events { worker_connections 64; }
http {
    access_log $1/access.log;
    client_body_temp_path $1/body; proxy_temp_path $1/proxy; fastcgi_temp_path $1/fastcgi;
    uwsgi_temp_path $1/uwsgi; scgi_temp_path $1/scgi;
    client_max_body_size 64m;
    server {
        listen 127.0.0.1:$2;
        location / { root $1/www; dav_methods PUT; create_full_put_path on; }
        location /readonly/ { alias $1/www/; limit_except GET { deny all; } }
    }
}
CONF
}

nginx_accepts() { # nginx_accepts PORT: until a connection is accepted, or the server is gone
    local tries=0
    while [ $tries -lt 20000 ]; do
        (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return 0
        kill -0 "$nginx_pid" 2>/dev/null || return 1
        tries=$((tries + 1))
    done
    return 1
}

nginx_start() {
    local port attempt
    mkdir -p "$1/www"
    for attempt in 1 2 3 4 5; do
        port=$(free_port)
        nginx_conf "$1" "$port" >"$1/nginx.conf"
        nginx -e "$1/error.log" -c "$1/nginx.conf" -p "$1" >"$1/nginx.out" 2>&1 &
        nginx_pid=$!
        if nginx_accepts "$port"; then
            nginx_url=http://127.0.0.1:$port
            return 0
        fi
        kill "$nginx_pid" 2>/dev/null || true
        wait "$nginx_pid" 2>/dev/null || true
    done
    cat "$1/error.log" "$1/nginx.out"
    return 1
}

nginx_stop() {
    kill -QUIT "$nginx_pid" 2>/dev/null || true
    wait "$nginx_pid" 2>/dev/null || true
}
