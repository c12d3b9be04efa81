mod former;
