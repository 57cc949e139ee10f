import PCastCodecs
import PCastCore
import Testing

@testable import PCastRendering

@Suite("Frames in half blocks")
struct HalfBlockCanvasTests {
    private let grid = TerminalGrid(columns: 40, rows: 12, cell: Dimensions(width: 8, height: 15))
    private let letterbox = FrameArrangement(aspectRatioMode: .letterbox)

    @Test("the terminal's cells have the frame's colors")
    func colours() throws {
        var canvas = HalfBlockCanvas(grid)
        var screen = TerminalScreen(columns: 40, rows: 12)
        screen.take(canvas.draw(try Colours.quarters(), FrameArrangement(aspectRatioMode: .fill)))
        #expect(screen.unknown.isEmpty)
        #expect(Colours.areNear(screen.cell(3, 2).upper, Colours.red))
        #expect(Colours.areNear(screen.cell(36, 2).lower, Colours.green))
        #expect(Colours.areNear(screen.cell(3, 10).upper, Colours.blue))
        #expect(Colours.areNear(screen.cell(36, 10).lower, Colours.white))
    }

    @Test("each half of a cell has its own color")
    func halves() throws {
        let stripes = try Colours.frame(Dimensions(width: 640, height: 360)) { _, y in
            y / 15 % 2 == 0 ? Colours.white : Colours.blue
        }
        var canvas = HalfBlockCanvas(grid)
        var screen = TerminalScreen(columns: 40, rows: 12)
        screen.take(canvas.draw(stripes, FrameArrangement(aspectRatioMode: .fill)))
        #expect(screen.cell(20, 6).upper >> 16 > 200)
        #expect(screen.cell(20, 6).lower >> 16 < 60)
    }

    @Test("unchanged cells are not written again")
    func changes() throws {
        var canvas = HalfBlockCanvas(grid)
        var screen = TerminalScreen(columns: 40, rows: 12)
        let before = try Colours.plain(Colours.blue)
        screen.take(canvas.draw(before, FrameArrangement(aspectRatioMode: .fill)))
        #expect(screen.writtenCells == 480)
        #expect(canvas.draw(before, FrameArrangement(aspectRatioMode: .fill)).isEmpty)
        let corner = try Colours.frame(before.dimensions) { x, y in x < 64 && y < 60 ? Colours.red : Colours.blue }
        let bytes = canvas.draw(corner, FrameArrangement(aspectRatioMode: .fill))
        screen.take(bytes)
        #expect((482...600).contains(screen.writtenCells), "\(screen.writtenCells) cells")
        #expect(Colours.areNear(screen.cell(2, 1).upper, Colours.red))
        #expect(Colours.areNear(screen.cell(30, 8).upper, Colours.blue))
    }

    @Test("the changes of frames result in the same screen as drawing the last frame", arguments: UInt64(1)...5)
    func sameAsAtOnce(seed: UInt64) throws {
        var canvas = HalfBlockCanvas(grid)
        var screen = TerminalScreen(columns: 40, rows: 12)
        var last: VideoFrame?
        for step in 0..<12 {
            let frame = try Colours.frame(Dimensions(width: 160, height: 90)) { x, y in
                (x / 20 + y / 15 + step * Int(seed)) % 3 == 0 ? Colours.green : Colours.red
            }
            screen.take(canvas.draw(frame, letterbox))
            last = frame
        }
        var other = TerminalScreen(columns: 40, rows: 12)
        var anew = HalfBlockCanvas(grid)
        other.take(anew.draw(last!, letterbox))
        for (one, two) in zip(screen.cells, other.cells) {
            #expect(
                Colours.areNear(one.upper, two.upper, within: 2) && Colours.areNear(one.lower, two.lower, within: 2))
        }
    }

    @Test("the area around a letterboxed frame is black, and a frame is rotated and mirrored as requested")
    func arrangement() throws {
        var canvas = HalfBlockCanvas(grid)
        var screen = TerminalScreen(columns: 40, rows: 12)
        let turned = FrameArrangement(aspectRatioMode: .letterbox, mirroring: .horizontal, rotation: .clockwise90)
        screen.take(canvas.draw(try Colours.quarters(), turned))
        #expect(screen.cell(0, 6) == TerminalScreen.Cell())
        // Mirrored: green, red above white, blue; then rotated clockwise: white, green above blue, red.
        #expect(Colours.areNear(screen.cell(17, 2).upper, Colours.white))
        #expect(Colours.areNear(screen.cell(22, 2).upper, Colours.green))
        #expect(Colours.areNear(screen.cell(17, 10).upper, Colours.blue))
        #expect(Colours.areNear(screen.cell(22, 10).upper, Colours.red))
    }

    @Test("a terminal that is resized is cleared and drawn again")
    func resized() throws {
        var canvas = HalfBlockCanvas(grid)
        _ = canvas.draw(try Colours.quarters(), letterbox)
        var screen = TerminalScreen(columns: 20, rows: 30)
        screen.take(canvas.reset(TerminalGrid(columns: 20, rows: 30)))
        screen.take(canvas.draw(try Colours.plain(Colours.white), FrameArrangement(aspectRatioMode: .fill)))
        #expect(screen.unknown.isEmpty)
        #expect(screen.cells.allSatisfy { Colours.areNear($0.upper, Colours.white) })
    }
}

@Suite("Frames by kitty's graphics protocol")
struct KittyCanvasTests {
    private let grid = TerminalGrid(columns: 80, rows: 24, cell: Dimensions(width: 9, height: 18))
    private let fill = FrameArrangement(aspectRatioMode: .fill)

    /// Returns the color of an image's central pixel.
    private func middle(_ image: TerminalScreen.Image) -> UInt32 {
        let index = (image.height / 2 * image.width + image.width / 2) * 3
        return UInt32(image.bytes[index]) << 16 | UInt32(image.bytes[index + 1]) << 8 | UInt32(image.bytes[index + 2])
    }

    @Test("tiles cover the terminal, each at its position and in its colors")
    func tiles() throws {
        var canvas = KittyCanvas(grid, maximumPixels: 1_000_000)
        var screen = TerminalScreen(columns: 80, rows: 24)
        screen.take(canvas.draw(try Colours.quarters(), fill))
        #expect(screen.unknown.isEmpty)
        #expect(screen.images.values.reduce(0) { $0 + $1.columns * $1.rows } == 80 * 24)
        for image in screen.images.values {
            let isRight = image.column >= 40
            let expected =
                image.row < 12
                ? (isRight ? Colours.green : Colours.red) : (isRight ? Colours.white : Colours.blue)
            #expect(Colours.areNear(middle(image), expected), "at \(image.column), \(image.row)")
        }
    }

    @Test("only changed tiles are sent, under their previous numbers")
    func changes() throws {
        var canvas = KittyCanvas(grid, maximumPixels: 1_000_000)
        var screen = TerminalScreen(columns: 80, rows: 24)
        screen.take(canvas.draw(try Colours.plain(Colours.blue), fill))
        let (before, numbers) = (screen.images, Set(screen.images.keys))
        #expect(canvas.draw(try Colours.plain(Colours.blue), fill).isEmpty)
        let corner = try Colours.frame(Dimensions(width: 320, height: 180)) { x, y in
            x < 40 && y < 20 ? Colours.red : Colours.blue
        }
        screen.take(canvas.draw(corner, fill))
        #expect(Set(screen.images.keys) == numbers)
        #expect(screen.images.filter { before[$0.key] != $0.value }.count == 1)
    }

    @Test("a frame has no more pixels than the connection can carry")
    func bound() throws {
        var canvas = KittyCanvas(grid, maximumPixels: 50_000)
        var screen = TerminalScreen(columns: 80, rows: 24)
        screen.take(canvas.draw(try Colours.quarters(), fill))
        #expect(screen.images.values.reduce(0) { $0 + $1.width * $1.height } <= 50_000)
        #expect(screen.images.values.reduce(0) { $0 + $1.columns * $1.rows } == 80 * 24)
    }

    @Test("closing the screen removes all images")
    func removesImagesAtEnd() throws {
        var canvas = KittyCanvas(grid, maximumPixels: 100_000)
        var screen = TerminalScreen(columns: 80, rows: 24)
        screen.take(canvas.draw(try Colours.quarters(), fill))
        screen.take(KittyCanvas.removal)
        #expect(screen.images.isEmpty)
    }
}
