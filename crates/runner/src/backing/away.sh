# It goes away for a moment: nobody removes its data meanwhile.
mine=$(mine)
touch "$mine/away"
