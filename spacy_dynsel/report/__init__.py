"""The experiments of Strubell et al. (2015), and a page that shows them."""
