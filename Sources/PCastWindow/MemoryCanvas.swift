import CSDL
import PCastCodecs
import PCastMedia
import PCastRendering

/// Draws by libyuv into the window's own memory, which an X server on this machine shares (MIT-SHM).
struct MemoryCanvas: WindowCanvas {
    private let sdl: SDLLibrary
    private let window: UnsafeMutableRawPointer
    private let painter = PicturePainter()
    /// Where the picture before this one lay: what is around it is black already.
    private var drawn: (place: PictureArrangement.Place, pixels: UnsafeMutableRawPointer)?

    /// Nil where the display gives no memory of a format that is known here.
    init?(_ sdl: SDLLibrary, window: UnsafeMutableRawPointer) {
        (self.sdl, self.window) = (sdl, window)
        guard let surface = sdl.calls.GetWindowSurface(window), Self.isKnown(surface) else { return nil }
    }

    var isSynchronized: Bool { false }

    var dimensions: Dimensions {
        guard let surface = sdl.calls.GetWindowSurface(window) else { return Dimensions(width: 0, height: 0) }
        return Dimensions(width: Int(surface.pointee.w), height: Int(surface.pointee.h))
    }

    mutating func draw(_ frame: VideoFrame?, _ arrangement: PictureArrangement) -> Bool {
        // Asked for each time: after a change of size it is another.
        guard let surface = sdl.calls.GetWindowSurface(window), Self.isKnown(surface),
            let pixels = surface.pointee.pixels
        else { return false }
        let size = Dimensions(width: Int(surface.pointee.w), height: Int(surface.pointee.h))
        let stride = Int(surface.pointee.pitch)
        let place =
            frame.map { arrangement.place($0.dimensions, on: size) }
            ?? .init(part: PictureRectangle(size), target: PictureRectangle(Dimensions(width: 0, height: 0)))
        if drawn?.place.target != place.target || drawn?.pixels != pixels {
            memset(pixels, 0, stride * size.height)
        }
        if let frame {
            painter.paint(
                frame, part: place.part, mirrored: arrangement.mirroring, turned: arrangement.rotation,
                at: place.target, of: pixels.assumingMemoryBound(to: UInt8.self), stride: stride)
        }
        drawn = (place, pixels)
        return sdl.calls.UpdateWindowSurface(window) == 0
    }

    func close() {}

    private static func isKnown(_ surface: UnsafeMutablePointer<csdl_surface>) -> Bool {
        let format = surface.pointee.format.pointee.format
        return format == CSDL_PIXELS_XRGB || format == CSDL_PIXELS_ARGB
    }
}
