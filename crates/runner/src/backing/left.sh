# It has ended: its data goes, also that which waits for it to come back.
mine=$(mine)
if [ -n "$mine" ]; then rm -rf "$mine"; fi
