# Runs it on a copy of the data that is kept as KEY, or on none; or on its own data, where it was away.
mine=$(mine)
if [ -n "$mine" ]; then
  mv -T "$mine" "$LIVE"
  rm "$LIVE/away"
  cd "$DATA"
  exec $AS sh -euc "$RUNNING"
fi
mkdir -p "$LIVE"
echo "$TOKEN" >"$LIVE/token"
if [ -n "$KEY" ]; then
  touch -c "$BASE/kept/$KEY"
  cp -a --reflink=auto "$BASE/kept/$KEY/data" "$DATA"
else
  own
fi
cd "$DATA"
exec $AS sh -euc "$RUNNING"
