import CSDL
import PCastCodecs
import PCastCore
import PCastRendering

/// Draws with the GPU: frames become textures, and the GPU converts, scales, rotates and mirrors them.
struct TextureCanvas: WindowCanvas {
    let isSynchronized: Bool
    private let sdl: SDLLibrary
    private let renderer: UnsafeMutableRawPointer
    private var texture: UnsafeMutableRawPointer?
    private var textureDimensions: Dimensions?
    private var matrix: MatrixCoefficients?
    /// The frame in the texture.
    private var uploaded: VideoFrame?

    /// Returns nil if there is no renderer, or only an emulated one that is not wanted.
    init?(
        _ sdl: SDLLibrary, window: UnsafeMutableRawPointer, isSynchronized: Bool, isEmulationRefused: Bool
    ) {
        let flags = UInt32(CSDL_RENDERER_ACCELERATED)
        let synchronization = isSynchronized ? UInt32(CSDL_RENDERER_VSYNC) : 0
        guard let renderer = sdl.calls.CreateRenderer(window, -1, flags | synchronization) else { return nil }
        if isEmulationRefused, Self.isEmulated(sdl) {
            sdl.calls.DestroyRenderer(renderer)
            return nil
        }
        (self.sdl, self.renderer) = (sdl, renderer)
        self.isSynchronized = isSynchronized
    }

    var dimensions: Dimensions {
        var (width, height): (Int32, Int32) = (0, 0)
        _ = sdl.calls.GetRendererOutputSize(renderer, &width, &height)
        return Dimensions(width: Int(width), height: Int(height))
    }

    mutating func draw(_ frame: VideoFrame?, _ arrangement: FrameArrangement) -> Bool {
        _ = sdl.calls.SetRenderDrawColor(renderer, 0, 0, 0, 255)
        guard sdl.calls.RenderClear(renderer) == 0 else { return false }
        if let frame {
            guard upload(frame), copy(frame, arrangement) else { return false }
        }
        sdl.calls.RenderPresent(renderer)
        return true
    }

    func close() {
        if let texture { sdl.calls.DestroyTexture(texture) }
        sdl.calls.DestroyRenderer(renderer)
    }

    private mutating func upload(_ frame: VideoFrame) -> Bool {
        if frame === uploaded { return true }
        if textureDimensions != frame.dimensions || matrix != frame.matrix {
            if let texture { sdl.calls.DestroyTexture(texture) }
            // SDL reads this mode when a texture is created or first drawn.
            sdl.calls.SetYUVConversionMode(
                Int32(frame.matrix == .bt709 ? CSDL_YUV_BT709 : CSDL_YUV_BT601))
            texture = sdl.calls.CreateTexture(
                renderer, CSDL_PIXELS_I420, Int32(CSDL_TEXTURE_STREAMING), Int32(frame.dimensions.width),
                Int32(frame.dimensions.height))
            (textureDimensions, matrix) = (frame.dimensions, frame.matrix)
        }
        guard let texture else { return false }
        uploaded = frame
        return sdl.calls.UpdateYUVTexture(
            texture, nil, frame.planeY, Int32(frame.strideY), frame.planeU, Int32(frame.strideUV), frame.planeV,
            Int32(frame.strideUV)) == 0
    }

    private func copy(_ frame: VideoFrame, _ arrangement: FrameArrangement) -> Bool {
        let placement = arrangement.placement(frame.dimensions, on: dimensions)
        var part = csdl_rect(placement.part)
        // SDL rotates around the center of the target, after mirroring.
        var target = csdl_rect(placement.target)
        if arrangement.rotation.exchangesSides {
            (target.w, target.h) = (target.h, target.w)
            target.x += (target.h - target.w) / 2
            target.y += (target.w - target.h) / 2
        }
        return sdl.calls.RenderCopyEx(
            renderer, texture, &part, &target, Double(arrangement.rotation.degrees), nil,
            Int32(arrangement.mirroring.rawValue)) == 0
    }

    /// Returns whether the last renderer's OpenGL is emulated by software, by the names that Mesa and others report.
    private static func isEmulated(_ sdl: SDLLibrary) -> Bool {
        var calls = sdl.calls
        guard let name = csdl_gl_renderer(&calls) else { return false }
        let words = String(cString: name).lowercased()
        return ["llvmpipe", "softpipe", "swrast", "software", "swiftshader"].contains(where: words.contains)
    }
}

extension csdl_rect {
    fileprivate init(_ rectangle: FrameRectangle) {
        self.init(
            x: Int32(rectangle.x), y: Int32(rectangle.y), w: Int32(rectangle.width), h: Int32(rectangle.height))
    }
}

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

/// Draws with libyuv to memory that a Wayland compositor shares (wl_shm). It never waits for the compositor, while emulated
/// OpenGL waits for each frame, and so misses others.
struct WaylandCanvas: WindowCanvas {
    private let sdl: SDLLibrary
    private let window: UnsafeMutableRawPointer
    private let memory: UnsafeMutablePointer<csdl_wayland>
    private let painter = FramePainter()
    /// The rectangles of the frames in the buffers, around which these are already black. There are at most
    /// `CSDL_WAYLAND_BUFFERS`.
    private var targets: [UnsafeMutablePointer<csdl_wayland_buffer>: FrameRectangle] = [:]

    /// Returns nil if the window is not one of Wayland.
    init?(_ sdl: SDLLibrary, window: UnsafeMutableRawPointer) {
        var information = csdl_system_info()
        (information.major, information.minor, information.patch) = (2, 0, 18)
        guard sdl.calls.GetWindowWMInfo(window, &information) == 1, let memory = csdl_wayland_open(&information) else {
            return nil
        }
        (self.sdl, self.window, self.memory) = (sdl, window, memory)
    }

    var isSynchronized: Bool { false }

    var dimensions: Dimensions {
        var (width, height): (Int32, Int32) = (0, 0)
        sdl.calls.GetWindowSize(window, &width, &height)
        return Dimensions(width: Int(width), height: Int(height))
    }

    func isReady() -> Bool { csdl_wayland_is_ready(memory) == 1 }

    mutating func draw(_ frame: VideoFrame?, _ arrangement: FrameArrangement) -> Bool {
        let size = dimensions
        var isNew: Int32 = 0
        guard let buffer = csdl_wayland_next(memory, Int32(size.width), Int32(size.height), &isNew),
            let pixels = buffer.pointee.pixels
        else { return false }
        let placement =
            frame.map { arrangement.placement($0.dimensions, on: size) }
            ?? .init(part: FrameRectangle(size), target: FrameRectangle(Dimensions(width: 0, height: 0)))
        // Memory of the kernel is black when it is new.
        if isNew == 0, targets[buffer] != placement.target { memset(pixels, 0, buffer.pointee.length) }
        targets[buffer] = placement.target
        if let frame {
            painter.paint(
                frame, part: placement.part, mirrored: arrangement.mirroring, turned: arrangement.rotation,
                at: placement.target, of: pixels, stride: size.width * 4)
        }
        return csdl_wayland_show(memory, buffer) == 1
    }

    func close() { csdl_wayland_close(memory) }
}

/// The drawing method of a window. Only the window thread uses it.
protocol WindowCanvas {
    /// Whether drawing waits for the display's next refresh.
    var isSynchronized: Bool { get }

    /// Returns whether there is memory to draw to. Otherwise the display still reads all of it.
    func isReady() -> Bool

    /// Draws a frame, or black without one. Returns false if the window's surface is lost and must be created again.
    mutating func draw(_ frame: VideoFrame?, _ arrangement: FrameArrangement) -> Bool

    /// The size in pixels.
    var dimensions: Dimensions { get }

    func close()
}

extension WindowCanvas {
    func isReady() -> Bool { true }
}
