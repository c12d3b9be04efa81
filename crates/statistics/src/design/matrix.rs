//! The small amount of linear algebra that an unbalanced design needs.

/// A symmetric matrix, stored in full.
#[derive(Debug, Clone)]
pub(super) struct Symmetric {
    size: usize,
    values: Vec<f64>,
}

impl Symmetric {
    pub(super) fn new(size: usize, of: impl Fn(usize, usize) -> f64) -> Self {
        let values = (0..size * size).map(|place| of(place / size, place % size));
        Self {
            size,
            values: values.collect(),
        }
    }

    pub(super) fn at(&self, row: usize, column: usize) -> f64 {
        self.values[row * self.size + column]
    }

    pub(super) fn times(&self, vector: &[f64]) -> Vec<f64> {
        let rows = self.values.chunks_exact(self.size);
        rows.map(|row| row.iter().zip(vector).map(|(a, b)| a * b).sum())
            .collect()
    }

    /// The inverse, by Cholesky decomposition; `None` unless the matrix is positive definite.
    pub(super) fn inverse(&self) -> Option<Self> {
        let lower = self.lower()?;
        let columns: Vec<Vec<f64>> = (0..self.size)
            .map(|column| self.solve_unit(&lower, column))
            .collect();
        Some(Self::new(self.size, |row, column| columns[column][row]))
    }

    fn lower(&self) -> Option<Vec<f64>> {
        let size = self.size;
        let scale = (0..size).map(|index| self.at(index, index)).fold(0.0, f64::max);
        let mut lower = vec![0.0; size * size];
        for row in 0..size {
            for column in 0..=row {
                let dot: f64 = (0..column)
                    .map(|k| lower[row * size + k] * lower[column * size + k])
                    .sum();
                let rest = self.at(row, column) - dot;
                lower[row * size + column] = if row == column {
                    if rest <= 1e-10 * scale {
                        return None;
                    }
                    rest.sqrt()
                } else {
                    rest / lower[column * size + column]
                };
            }
        }
        Some(lower)
    }

    fn solve_unit(&self, lower: &[f64], unit: usize) -> Vec<f64> {
        let size = self.size;
        let mut found = vec![0.0; size];
        for row in 0..size {
            let dot: f64 = (0..row).map(|k| lower[row * size + k] * found[k]).sum();
            found[row] = (f64::from(u8::from(row == unit)) - dot) / lower[row * size + row];
        }
        for row in (0..size).rev() {
            let dot: f64 = (row + 1..size).map(|k| lower[k * size + row] * found[k]).sum();
            found[row] = (found[row] - dot) / lower[row * size + row];
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::Symmetric;

    #[test]
    fn inverse_undoes() {
        let matrix = Symmetric::new(4, |row, column| {
            if row == column {
                5.0
            } else {
                1.0 / (1 + row + column) as f64
            }
        });
        let inverse = matrix.inverse().expect("positive definite");
        for column in 0..4 {
            let unit: Vec<f64> = (0..4).map(|row| inverse.at(row, column)).collect();
            for (row, value) in matrix.times(&unit).into_iter().enumerate() {
                let expected = f64::from(u8::from(row == column));
                assert!((value - expected).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn singular_has_none() {
        assert!(Symmetric::new(2, |_, _| 1.0).inverse().is_none());
    }
}
