package import PCastCore

/// The size of a terminal in cells, and the size of a cell.
package struct TerminalGrid: Hashable, Sendable {
    /// The largest number of columns or rows.
    private static let maximumCells = 1_000

    /// The number of columns, 1 to 1,000.
    package var columns: Int
    /// The number of rows, 1 to 1,000.
    package var rows: Int

    /// The size of a cell in pixels; nil if the terminal does not report it. Cells are usually about twice as high as
    /// wide.
    package var cell: Dimensions?

    /// Creates a grid. The numbers are clamped to 1...1,000, and an empty cell size counts as nil.
    package init(columns: Int, rows: Int, cell: Dimensions? = nil) {
        self.columns = min(max(1, columns), Self.maximumCells)
        self.rows = min(max(1, rows), Self.maximumCells)
        if let cell, cell.width > 0, cell.height > 0 { self.cell = cell }
    }

    /// The size of a cell, or a common size if it is unknown.
    var cellOrDefault: Dimensions { cell ?? Dimensions(width: 8, height: 16) }
}
