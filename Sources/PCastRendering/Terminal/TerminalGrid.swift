public import PCastMedia

/// The size of a terminal: in cells, and how large a cell is.
public struct TerminalGrid: Hashable, Sendable {
    /// Terminals are never larger here, whatever they say.
    private static let mostCells = 1_000

    public var columns: Int
    public var rows: Int

    /// In pixels, as the terminal says; nil where it does not. Most are about twice as high as wide.
    public var cell: Dimensions?

    public init(columns: Int, rows: Int, cell: Dimensions? = nil) {
        self.columns = min(max(1, columns), Self.mostCells)
        self.rows = min(max(1, rows), Self.mostCells)
        if let cell, cell.width > 0, cell.height > 0 { self.cell = cell }
    }

    /// A cell's, or a usual one's.
    var cellOrUsual: Dimensions { cell ?? Dimensions(width: 8, height: 16) }
}
