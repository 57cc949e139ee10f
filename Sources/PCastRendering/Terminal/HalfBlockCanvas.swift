import PCastCodecs
import PCastCore

/// Draws frames with two pixels per cell. The block "▀" has the color of the upper half, and its background that of the
/// lower half. The colors have 24 bits (ISO 8613-6, SGR 38;2 and 48;2).
struct HalfBlockCanvas: TerminalCanvas {
    /// The colors of a cell, as 0xRRGGBB.
    private struct Cell: Equatable {
        var upper: UInt32
        var lower: UInt32
    }

    /// The largest difference per component at which a cell is not redrawn. Encoding causes such differences in still
    /// images.
    private static let tolerance: Int32 = 2

    private static let block: [UInt8] = [0xE2, 0x96, 0x80]

    private let painter = FramePainter()
    private var grid: TerminalGrid
    /// The cells that the terminal shows; nil where that is unknown.
    private var shown: [Cell?]
    /// The pixels, 2×2 per half cell, so that each half has its own color despite the chroma subsampling of 4:2:0.
    private var pixels: [UInt8]

    init(_ grid: TerminalGrid) {
        self.grid = grid
        shown = Array(repeating: nil, count: grid.columns * grid.rows)
        pixels = Array(repeating: 0, count: grid.columns * 2 * grid.rows * 4 * 4)
    }

    mutating func reset(_ grid: TerminalGrid) -> [UInt8] {
        self = HalfBlockCanvas(grid)
        return TerminalSequence.clear
    }

    mutating func draw(_ frame: VideoFrame, _ arrangement: FrameArrangement) -> [UInt8] {
        paint(frame, arrangement)
        var output = TerminalSequence.beginUpdate
        let empty = output.count
        var cursor = CursorState()
        for row in 0..<grid.rows {
            for column in 0..<grid.columns {
                let cell = Cell(upper: pixel(column, row * 2), lower: pixel(column, row * 2 + 1))
                let index = row * grid.columns + column
                if let before = shown[index], Self.isNear(before.upper, cell.upper),
                    Self.isNear(before.lower, cell.lower)
                {
                    continue
                }
                shown[index] = cell
                cursor.move(to: (column, row), &output)
                put(cell, &cursor, &output)
            }
        }
        if output.count == empty { return [] }
        output += TerminalSequence.plain
        output += TerminalSequence.endUpdate
        return output
    }

    /// Scales the frame to 2×4 pixels per cell.
    private mutating func paint(_ frame: VideoFrame, _ arrangement: FrameArrangement) {
        let canvas = Dimensions(width: grid.columns * 2, height: grid.rows * 4)
        let cell = grid.cellOrDefault
        let placement = arrangement.placement(
            frame.dimensions, on: canvas, pixelAspect: Double(cell.width) * 2 / Double(cell.height))
        let stride = grid.columns * 2 * 4
        pixels.withUnsafeMutableBufferPointer { pixels in
            pixels.update(repeating: 0)
            painter.paint(
                frame, part: placement.part, mirrored: arrangement.mirroring, turned: arrangement.rotation,
                at: placement.target, of: pixels.baseAddress!, stride: stride)
        }
    }

    /// Returns the mean of four pixels as 0xRRGGBB.
    private func pixel(_ x: Int, _ y: Int) -> UInt32 {
        let row = grid.columns * 2 * 4
        let index = y * 2 * row + x * 2 * 4
        let mean = { (channel: Int) -> UInt32 in
            let start = index + channel
            let upper = UInt32(pixels[start]) + UInt32(pixels[start + 4])
            let lower = UInt32(pixels[start + row]) + UInt32(pixels[start + row + 4])
            return (upper + lower + 2) / 4
        }
        return mean(2) << 16 | mean(1) << 8 | mean(0)
    }

    private static func isNear(_ one: UInt32, _ other: UInt32) -> Bool {
        for shift in [UInt32(0), 8, 16] {
            let difference = Int32(one >> shift & 0xFF) - Int32(other >> shift & 0xFF)
            if abs(difference) > tolerance { return false }
        }
        return true
    }

    private func put(_ cell: Cell, _ cursor: inout CursorState, _ output: inout [UInt8]) {
        if cell.upper == cell.lower {
            cursor.background(cell.lower, &output)
            output.append(0x20)
        } else {
            cursor.foreground(cell.upper, &output)
            cursor.background(cell.lower, &output)
            output += Self.block
        }
        cursor.advance()
    }
}

/// The cursor position and the colors of the terminal, so that they are not sent again.
private struct CursorState {
    private var position: (column: Int, row: Int)?
    private var foreground: UInt32?
    private var background: UInt32?

    mutating func move(to target: (column: Int, row: Int), _ output: inout [UInt8]) {
        defer { position = target }
        if let position, position.row == target.row, target.column >= position.column {
            let distance = target.column - position.column
            if distance > 0 { output += TerminalSequence.forward(distance) }
            return
        }
        output += TerminalSequence.move(column: target.column, row: target.row)
    }

    mutating func advance() { position?.column += 1 }

    mutating func foreground(_ colour: UInt32, _ output: inout [UInt8]) {
        if foreground == colour { return }
        foreground = colour
        output += TerminalSequence.colour(38, colour)
    }

    mutating func background(_ colour: UInt32, _ output: inout [UInt8]) {
        if background == colour { return }
        background = colour
        output += TerminalSequence.colour(48, colour)
    }
}
