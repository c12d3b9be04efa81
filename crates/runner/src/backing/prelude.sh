# How every script of a companion begins. Given: BASE, where data lies; OTHERWISE, where it lies if the user of the companion
# may not enter BASE; USERS, as whom it runs where this is root. It sets AS (runs a command as that user), OWNER, and DATA in a
# folder LIVE, whose name is this process and its start: what `exec`s from here is the same process, and when it is gone the
# folder has no owner, unless it is away for less than a minute. `mine` prints the folder that bears TOKEN.
born() {
  read -r stat 2>/dev/null <"/proc/$1/stat" || return 0
  # shellcheck disable=SC2086
  set -- ${stat##*) }
  echo "${20}"
}
umask 022
AS='' OWNER=''
if [ -n "$USERS" ] && [ "$(id -u)" = 0 ]; then
  for user in $USERS; do
    if id -u "$user" >/dev/null 2>&1; then
      OWNER=$(id -u "$user"):$(id -g "$user")
      AS="setpriv --reuid=${OWNER%:*} --regid=${OWNER#*:} --clear-groups"
      break
    fi
  done
  if [ -z "$AS" ]; then
    echo "it does not run as root, and this machine has none of the users: $USERS" >&2
    exit 1
  fi
fi
mkdir -p "$BASE/kept" "$BASE/live"
if [ -n "$AS" ] && ! $AS test -x "$BASE/live"; then
  BASE=$OTHERWISE
  mkdir -p "$BASE/kept" "$BASE/live"
  if [ ! -O "$BASE/live" ]; then
    echo "$BASE is not ours: remove it" >&2
    exit 1
  fi
fi
for left in "$BASE"/live/*; do
  name=${left##*/}
  if [ -e "$left" ] && [ "$(born "${name%%-*}")" != "${name#*-}" ] && [ -z "$(find "$left/away" -mmin -1 2>/dev/null)" ]; then
    rm -rf "$left"
  fi
done
mine() {
  for one in "$BASE"/live/*; do
    if [ "$(cat "$one/token" 2>/dev/null)" = "$TOKEN" ]; then echo "$one"; fi
  done
}
LIVE=$BASE/live/$$-$(born $$)
DATA=$LIVE/data
export AS DATA
own() {
  mkdir -p "$DATA"
  if [ -n "$OWNER" ]; then chown "$OWNER" "$DATA"; fi
}
