// Node: a timeout of a day, then an interval.
console.log(new Date().toISOString());
setTimeout(() => {
  console.log(new Date().toISOString());
  let count = 0;
  const interval = setInterval(() => {
    console.log(++count, new Date().toISOString(), Math.round(performance.now() / 1000));
    if (count === 3) clearInterval(interval);
  }, 3600e3);
}, 86400e3);
