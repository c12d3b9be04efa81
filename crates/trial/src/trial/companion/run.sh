# Runs it on a copy of the data that is kept as KEY, or on none.
mkdir -p "$LIVE"
if [ -n "$KEY" ]; then
  touch -c "$BASE/kept/$KEY"
  cp -a --reflink=auto "$BASE/kept/$KEY/data" "$DATA"
else
  own
fi
cd "$DATA"
exec $AS sh -euc "$RUNNING"
