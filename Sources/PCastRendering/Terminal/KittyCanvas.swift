import PCastCodecs
import PCastCore

/// Draws frames with kitty's graphics protocol: tiles of several cells, of which only changed ones are sent. An image
/// with the ID of a tile replaces the tile's previous image.
struct KittyCanvas: TerminalCanvas {
    /// The size of a tile in cells.
    private static let tileColumns = 20
    private static let tileRows = 6

    /// The first image ID, chosen so that images of other programs remain.
    private static let firstImage = 0x5043_0000

    /// The most characters in one chunk of an image (limit of the protocol).
    private static let pieceLength = 4_096

    private let painter = FramePainter()
    private let maximumPixels: Int
    private var grid: TerminalGrid
    /// The number of pixels that are sent per cell.
    private var cell: Dimensions
    private var pixels: [UInt8]
    /// The pixels that the terminal shows.
    private var shown: [UInt8]
    private var isShown = false

    /// Creates a canvas that sends at most `maximumPixels` per frame. The terminal scales them up.
    init(_ grid: TerminalGrid, maximumPixels: Int) {
        self.grid = grid
        self.maximumPixels = maximumPixels
        let whole = grid.cellOrDefault
        let count = Double(grid.columns * whole.width * grid.rows * whole.height)
        let scale = min(1, (Double(maximumPixels) / count).squareRoot())
        cell = Dimensions(
            width: max(1, Int(Double(whole.width) * scale)), height: max(1, Int(Double(whole.height) * scale)))
        pixels = Array(repeating: 0, count: grid.columns * cell.width * grid.rows * cell.height * 4)
        shown = pixels
    }

    /// The sequence that deletes all images. Terminals without the protocol ignore it.
    static let removal = Array("\u{1B}_Ga=d,d=A,q=2\u{1B}\\".utf8)

    mutating func reset(_ grid: TerminalGrid) -> [UInt8] {
        self = KittyCanvas(grid, maximumPixels: maximumPixels)
        return Self.removal + TerminalSequence.clear
    }

    mutating func draw(_ frame: VideoFrame, _ arrangement: FrameArrangement) -> [UInt8] {
        paint(frame, arrangement)
        var output = TerminalSequence.beginUpdate
        let empty = output.count
        var number = Self.firstImage
        for row in stride(from: 0, to: grid.rows, by: Self.tileRows) {
            for column in stride(from: 0, to: grid.columns, by: Self.tileColumns) {
                let tile = FrameRectangle(
                    x: column, y: row, width: min(Self.tileColumns, grid.columns - column),
                    height: min(Self.tileRows, grid.rows - row))
                if !isShown || hasChanged(tile) { send(tile, number: number, &output) }
                number += 1
            }
        }
        isShown = true
        if output.count == empty { return [] }
        swap(&shown, &pixels)
        output += TerminalSequence.endUpdate
        return output
    }

    private var rowLength: Int { grid.columns * cell.width * 4 }

    private mutating func paint(_ frame: VideoFrame, _ arrangement: FrameArrangement) {
        let canvas = Dimensions(width: grid.columns * cell.width, height: grid.rows * cell.height)
        let whole = grid.cellOrDefault
        // With fewer pixels than the cell has, their aspect ratio may differ.
        let aspect = Double(whole.width * cell.height) / Double(whole.height * cell.width)
        let placement = arrangement.placement(frame.dimensions, on: canvas, pixelAspect: aspect)
        let stride = rowLength
        pixels.withUnsafeMutableBufferPointer { pixels in
            pixels.update(repeating: 0)
            painter.paint(
                frame, part: placement.part, mirrored: arrangement.mirroring, turned: arrangement.rotation,
                at: placement.target, of: pixels.baseAddress!, stride: stride)
        }
    }

    private func hasChanged(_ tile: FrameRectangle) -> Bool {
        let length = tile.width * cell.width * 4
        return (0..<tile.height * cell.height).contains { row in
            let start = (tile.y * cell.height + row) * rowLength + tile.x * cell.width * 4
            return pixels[start..<start + length] != shown[start..<start + length]
        }
    }

    private func send(_ tile: FrameRectangle, number: Int, _ output: inout [UInt8]) {
        let (width, height) = (tile.width * cell.width, tile.height * cell.height)
        var colours: [UInt8] = []
        colours.reserveCapacity(width * height * 3)
        for row in 0..<height {
            let start = (tile.y * cell.height + row) * rowLength + tile.x * cell.width * 4
            for index in stride(from: start, to: start + width * 4, by: 4) {
                colours.append(pixels[index + 2])
                colours.append(pixels[index + 1])
                colours.append(pixels[index])
            }
        }
        output += TerminalSequence.move(column: tile.x, row: tile.y)
        let text = Array(Base64.encode(colours).utf8)
        var start = 0
        while start < text.count {
            let end = min(start + Self.pieceLength, text.count)
            let more = end < text.count ? 1 : 0
            // q=2: no responses; C=1: the cursor does not move.
            let head =
                start == 0
                ? "a=T,f=24,s=\(width),v=\(height),i=\(number),p=1,c=\(tile.width),r=\(tile.height),C=1,q=2,m=\(more)"
                : "m=\(more),q=2"
            output += Array("\u{1B}_G\(head);".utf8)
            output += text[start..<end]
            output += [0x1B, 0x5C]
            start = end
        }
    }
}
