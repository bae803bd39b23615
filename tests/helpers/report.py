"""What pages are drawn of."""

TEXT = "Ann hits <u>her</u> ball & York .\n\n She saw Ann ."
