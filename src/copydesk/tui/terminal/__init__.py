"""Terminal driver, cell widths, ASCII fallback, images."""
