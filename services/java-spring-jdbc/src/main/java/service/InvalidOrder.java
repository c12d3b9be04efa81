package service;

import java.util.List;

/** Becomes a 422 that tells all faults. */
public class InvalidOrder extends RuntimeException {
    public record Errors(List<NewOrder.Fault> errors) {}

    private final transient Errors errors;

    public InvalidOrder(List<NewOrder.Fault> faults) {
        errors = new Errors(faults);
    }

    public Errors errors() {
        return errors;
    }
}
