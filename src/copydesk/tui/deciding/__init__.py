"""What a person does to drafts on the review, imported with the first of it."""
