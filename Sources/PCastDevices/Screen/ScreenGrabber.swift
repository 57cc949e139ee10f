import CXCB
import PCastCodecs
import PCastIO
import PCastMedia

/// Takes pictures of a screen, a monitor or a window. Used by one thread at a time, but for `interrupt`.
///
/// All that a picture needs is asked for at once, so that it takes one journey to the server and back: how large the
/// drawable is now, where the pointer is and how it looks, and the image. What was resized meanwhile is grabbed again.
final class ScreenGrabber: @unchecked Sendable {
    enum Grab {
        case picture(VideoFrame)
        /// The window is there and not shown (minimized, or on another workspace), or too small for a picture.
        case hidden
        /// The window was closed.
        case closed
        /// The server or the monitor is gone; the reason is for people.
        case vanished(String)
        case failed(String)
    }

    /// A picture of a window that someone is resizing may fail that often in a row.
    private static let attempts = 4

    /// A monitor is looked for again so often: not every change of one is told, or changes the screen's size.
    private static let monitorInterval = TimeSpan.seconds(1)

    private let server: XServer
    private let showsPointer: Bool
    private let converter = RawPictureConverter()
    private var target: ScreenTarget
    /// The drawable's, as last seen; nil when it is to be found out.
    private var whole: XGeometry?
    private var placedAt = WallTime(nanosecondsSinceEpoch: 0)
    private var memory: XSharedMemory?
    private var isShared: Bool

    /// - Throws: as `XServer` and `ScreenTarget`.
    init(_ specification: ScreenSpecification, showsPointer: Bool) throws(DeviceError) {
        let (server, target) = try BrokenPipe.blocked { () throws(DeviceError) in
            let server = try XServer(display: specification.display)
            return (server, try ScreenTarget(specification.area, of: server))
        }
        self.server = server
        self.target = target
        self.showsPointer = showsPointer && server.hasPointerImage
        isShared = server.hasSharedMemory
        BrokenPipe.blocked { prepare() }
    }

    /// The size of the next picture, unless it changes meanwhile.
    var dimensions: Dimensions { Self.even(target.dimensions) }

    /// Whether the last picture came through memory that the server shares.
    var usesSharedMemory: Bool { memory != nil }

    func interrupt() { server.interrupt() }

    private func prepare() {
        let connection = server.connection
        if case .window = target.area, server.hasWindowPixmaps {
            // The server keeps a picture of the window alone from now on: whole, whatever covers it, and also where it
            // hangs over the screen's edge. Undone when the connection ends.
            xcb_composite_redirect_window(connection, target.drawable, UInt8(XCB_COMPOSITE_REDIRECT_AUTOMATIC.rawValue))
        }
        xcb_flush(connection)
    }

    /// - Parameter captureTime: of now.
    func grab(captureTime: WallTime, timestamp: MediaTime) -> Grab {
        server.takeEvents()
        if case .monitor = target.area, captureTime - placedAt >= Self.monitorInterval { whole = nil }
        for _ in 0..<Self.attempts {
            if let grab = attempt(captureTime: captureTime, timestamp: timestamp) { return grab }
        }
        return .hidden
    }

    /// Nil when it is to be tried again.
    private func attempt(captureTime: WallTime, timestamp: MediaTime) -> Grab? {
        let connection = server.connection
        let drawable = target.drawable
        let isKnown = whole != nil && Self.isPicture(target.dimensions)
        let geometryCookie = xcb_get_geometry(connection, drawable)
        let pointer = showsPointer && isKnown ? XPointerQuestion(of: server, on: drawable) : nil
        let image = isKnown ? XImageQuestion(of: server, target, into: sharedMemory()) : nil
        let geometry = server.answer({ xcb_get_geometry_reply($0, geometryCookie, $1) }) { XGeometry($0.pointee) }
        let pointerImage = pointer?.answer(server, left: target.left, top: target.top)
        guard case .reply(let now) = geometry else {
            image?.discard(server)
            return geometry.isGone || target.drawable == server.screen.root ? gone : .closed
        }
        guard now == whole, let image else {
            image?.discard(server)
            return place(in: now, at: captureTime)
        }
        let grab = image.answer(server) { bytes -> Grab in
            if let pointerImage { draw(pointerImage, into: bytes) }
            return convert(UnsafeRawBufferPointer(bytes), captureTime: captureTime, timestamp: timestamp)
        }
        switch grab {
        case .reply(let grab): return grab
        case .gone: return gone
        // It shrank, or it is not shown, and then has no picture.
        case .refused(XErrorCode.badMatch), .refused(XErrorCode.badDrawable): return isShown ? nil : .hidden
        case .refused(let code):
            guard isShared, memory != nil else {
                return .failed("the X server refuses to give a picture (error \(code))")
            }
            // Memory that the server could attach and cannot write: through the socket, then.
            isShared = false
            memory = nil
            return nil
        }
    }

    /// The drawable has another size than the one before.
    private func place(in geometry: XGeometry, at time: WallTime) -> Grab? {
        (whole, placedAt) = (geometry, time)
        guard target.place(in: geometry, server) else {
            return server.isGone ? gone : .vanished("\(target.name) of \(server.name) is gone")
        }
        guard target.dimensions.width <= Self.longestSide, target.dimensions.height <= Self.longestSide else {
            return .failed("a screen of \(target.dimensions) is larger than any picture")
        }
        return Self.isPicture(target.dimensions) ? nil : .hidden
    }

    private static let longestSide = 16_384

    private var gone: Grab { .vanished("the X server of \(server.name) is gone") }

    private static func isPicture(_ dimensions: Dimensions) -> Bool { dimensions.width > 1 && dimensions.height > 1 }

    /// Whether the window is on the screen.
    private var isShown: Bool {
        let cookie = xcb_get_window_attributes(server.connection, target.drawable)
        let state = server.answer({ xcb_get_window_attributes_reply($0, cookie, $1) }) { $0.pointee.map_state }
        // One that was closed just now is told with the next attempt.
        return state.value.map { UInt32($0) == XCB_MAP_STATE_VIEWABLE.rawValue } ?? true
    }

    /// Memory for the present image; nil where images come through the socket.
    private func sharedMemory() -> XSharedMemory? {
        guard isShared else { return nil }
        let needed = target.layout.stride(width: target.dimensions.width) * target.dimensions.height
        if let memory, memory.byteCount >= needed { return memory }
        memory = nil
        memory = XSharedMemory(byteCount: needed, server: server)
        isShared = memory != nil
        return memory
    }

    private func draw(_ pointer: XPointer, into bytes: UnsafeMutableRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        let stride = target.layout.stride(width: target.dimensions.width)
        guard bytes.count >= stride * target.dimensions.height else { return }
        pointer.draw(
            into: base, layout: target.layout, width: target.dimensions.width, height: target.dimensions.height,
            stride: stride)
    }

    private func convert(_ bytes: UnsafeRawBufferPointer, captureTime: WallTime, timestamp: MediaTime) -> Grab {
        do {
            return .picture(
                try converter.convert(
                    bytes, format: target.layout.format, dimensions: target.dimensions,
                    stride: target.layout.stride(width: target.dimensions.width), isFullRange: true,
                    captureTime: captureTime, timestamp: timestamp))
        } catch {
            return .failed("the X server's picture cannot be read: \(error)")
        }
    }

    /// 4:2:0 wants even numbers: the last column or row is left out.
    static func even(_ dimensions: Dimensions) -> Dimensions {
        Dimensions(width: max(2, dimensions.width & ~1), height: max(2, dimensions.height & ~1))
    }
}
