# Makes data once, and keeps it as KEY among the newest. What is not whole is never kept.
kept=$BASE/kept/$KEY
if [ ! -e "$kept/whole" ]; then
  trap 'rm -rf "$LIVE"' EXIT
  own
  cd "$FILES"
  (
    set -eu
    eval "$SEEDING"
  )
  touch "$LIVE/whole"
  mv -T "$LIVE" "$kept" || [ -e "$kept/whole" ]
fi
touch "$kept"
# Names are ours: a companion, a digest, a number.
# shellcheck disable=SC2012
ls -1t "$BASE/kept" | tail -n "+$((KEEP + 1))" | while read -r old; do rm -rf "${BASE:?}/kept/$old"; done
