// SPDX-License-Identifier: MIT
// @sinonjs/fake-timers beside us: insert into its list, and fire through a virtual hour. Its cost a
// timer grows with their number, so it gets 10,000 of them and not a million.
const { createRequire } = require("module");
const FakeTimers = createRequire(process.argv[2] + "/")("@sinonjs/fake-timers");
const N = 10000;
let insert = Infinity, hour = Infinity;
for (let r = 0; r < 3; r++) {
  const clock = FakeTimers.createClock();
  let t = process.hrtime.bigint();
  for (let i = 0; i < N; i++) clock.setTimeout(() => {}, 3600000);
  insert = Math.min(insert, Number(process.hrtime.bigint() - t) / N);
  t = process.hrtime.bigint();
  clock.tick(3600000);
  hour = Math.min(hour, Number(process.hrtime.bigint() - t) / 1e6);
}
console.log(`timer_insert_10k_ns ${insert.toFixed(1)}`);
console.log(`sleepers_10k_ms ${hour.toFixed(1)}`);
