# make.sh DIRECTORY: the modules of this folder, for tests/vt/wasi.vt.
set -e
cd "$(dirname "$0")"
mkdir -p "$1"
for source in *.c; do
    clang --target=wasm32-wasi --sysroot=/usr -O1 -w -Wl,--strip-all -o "$1/${source%.c}.wasm" "$source"
done
