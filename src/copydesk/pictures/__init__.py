"""The craft of pictures: what may be one, where its bytes come from and are kept, and how it is made to fit."""
