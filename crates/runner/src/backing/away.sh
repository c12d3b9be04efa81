# The service stops for a moment; the mark `away` keeps the clean-up from removing its data meanwhile.
mine=$(mine)
touch "$mine/away"
