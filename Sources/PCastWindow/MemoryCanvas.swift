import CSDL
import PCastCodecs
import PCastCore
import PCastRendering

/// Draws with libyuv to the window's memory, which a local X server shares (MIT-SHM).
struct MemoryCanvas: WindowCanvas {
    private let sdl: SDLLibrary
    private let window: UnsafeMutableRawPointer
    private let painter = FramePainter()
    /// The placement of the previous frame, around which the memory is already black.
    private var drawn: (place: FrameArrangement.Placement, pixels: UnsafeMutableRawPointer)?

    /// Returns nil if the display's pixel format is not supported.
    init?(_ sdl: SDLLibrary, window: UnsafeMutableRawPointer) {
        (self.sdl, self.window) = (sdl, window)
        guard let surface = sdl.calls.GetWindowSurface(window), Self.isKnown(surface) else { return nil }
    }

    var isSynchronized: Bool { false }

    var dimensions: Dimensions {
        guard let surface = sdl.calls.GetWindowSurface(window) else { return Dimensions(width: 0, height: 0) }
        return Dimensions(width: Int(surface.pointee.w), height: Int(surface.pointee.h))
    }

    mutating func draw(_ frame: VideoFrame?, _ arrangement: FrameArrangement) -> Bool {
        // The surface is queried each time, because it changes with the size.
        guard let surface = sdl.calls.GetWindowSurface(window), Self.isKnown(surface),
            let pixels = surface.pointee.pixels
        else { return false }
        let size = Dimensions(width: Int(surface.pointee.w), height: Int(surface.pointee.h))
        let stride = Int(surface.pointee.pitch)
        let placement =
            frame.map { arrangement.placement($0.dimensions, on: size) }
            ?? .init(part: FrameRectangle(size), target: FrameRectangle(Dimensions(width: 0, height: 0)))
        if drawn?.place.target != placement.target || drawn?.pixels != pixels {
            memset(pixels, 0, stride * size.height)
        }
        if let frame {
            painter.paint(
                frame, part: placement.part, mirrored: arrangement.mirroring, turned: arrangement.rotation,
                at: placement.target, of: pixels.assumingMemoryBound(to: UInt8.self), stride: stride)
        }
        drawn = (placement, pixels)
        return sdl.calls.UpdateWindowSurface(window) == 0
    }

    func close() {}

    private static func isKnown(_ surface: UnsafeMutablePointer<csdl_surface>) -> Bool {
        let format = surface.pointee.format.pointee.format
        return format == CSDL_PIXELS_XRGB || format == CSDL_PIXELS_ARGB
    }
}

/// The drawing method of a window. Only the window thread uses it.
protocol WindowCanvas {
    /// Whether drawing waits for the display's next refresh.
    var isSynchronized: Bool { get }

    /// Draws a frame, or black without one. Returns false if the window's surface is lost and must be created again.
    mutating func draw(_ frame: VideoFrame?, _ arrangement: FrameArrangement) -> Bool

    /// The size in pixels.
    var dimensions: Dimensions { get }

    func close()
}
