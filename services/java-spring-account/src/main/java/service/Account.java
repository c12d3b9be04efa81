package service;

public record Account(long id, String name, long balanceCents) {}
