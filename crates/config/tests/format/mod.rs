mod former;
mod wrong;
