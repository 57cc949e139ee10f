import PCastCore
import Testing

@testable import PCastRendering

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
