// Runs a module under Node's own WASI: node oracle.mjs MODULE DIRECTORY [ARG...]
import { readFileSync } from 'node:fs';
import { WASI } from 'node:wasi';
const [module, directory, ...args] = process.argv.slice(2);
const wasi = new WASI({ version: 'preview1', args, env: { WASI_ONE: 'first' }, preopens: { '.': directory, '/': directory }, returnOnExit: true });
const { instance } = await WebAssembly.instantiate(readFileSync(module), { wasi_snapshot_preview1: wasi.wasiImport });
process.exitCode = wasi.start(instance);
