import CXCB
import Glibc
import PCastCodecs
import PCastCore
import PCastIO

/// Captures frames of a screen, a monitor or a window. Only one thread may use it at a time, except for `interrupt`.
///
/// All requests for a frame are sent together, so that it takes one round trip. They are for the size of the drawable,
/// the position and image of the pointer, and the image. If the size changed meanwhile, the frame is captured again.
final class ScreenGrabber: @unchecked Sendable {
    enum GrabResult {
        case frame(VideoFrame)
        /// The window exists but is not visible (minimized or on another workspace), or is too small for a frame.
        case hidden
        /// The window was closed.
        case closed
        /// The server or the monitor is gone, for this reason.
        case vanished(String)
        case failed(String)
    }

    /// The most attempts per frame. Captures can fail while a window is resized.
    private static let attempts = 4

    /// The interval at which a monitor is queried again. Not every change is reported or changes the size of the
    /// screen.
    private static let monitorInterval = TimeSpan.seconds(1)

    private let server: XServer
    private let showsPointer: Bool
    private let converter = RawFrameConverter()
    private var target: ScreenTarget
    /// The last geometry of the drawable; nil if it must be queried.
    private var whole: XGeometry?
    private var capturedAt = WallTime(nanosecondsSinceEpoch: 0)
    private var memory: XSharedMemory?
    private var isShared: Bool

    /// Connects to the server and finds the area. Throws the errors of `XServer` and `ScreenTarget`.
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

    /// The size of the next frame, unless it changes meanwhile.
    var dimensions: Dimensions { Self.even(target.dimensions) }

    /// Whether the last frame was transferred through shared memory.
    var usesSharedMemory: Bool { memory != nil }

    func interrupt() { server.interrupt() }

    private func prepare() {
        let connection = server.connection
        if case .window = target.area, server.hasWindowPixmaps {
            // The server now keeps a complete image of the window, including covered parts and those beyond the edge of
            // the screen. This ends with the connection.
            xcb_composite_redirect_window(connection, target.drawable, UInt8(XCB_COMPOSITE_REDIRECT_AUTOMATIC.rawValue))
        }
        xcb_flush(connection)
    }

    /// Captures a frame. `captureTime` is the current time.
    func grab(captureTime: WallTime, timestamp: MediaTime) -> GrabResult {
        server.takeEvents()
        if case .monitor = target.area, captureTime - capturedAt >= Self.monitorInterval { whole = nil }
        for _ in 0..<Self.attempts {
            if let grab = attempt(captureTime: captureTime, timestamp: timestamp) { return grab }
        }
        return .hidden
    }

    /// Captures a frame; nil if it must be tried again.
    private func attempt(captureTime: WallTime, timestamp: MediaTime) -> GrabResult? {
        let connection = server.connection
        let drawable = target.drawable
        let isKnown = whole != nil && Self.isImage(target.dimensions)
        let geometryCookie = xcb_get_geometry(connection, drawable)
        let pointer = showsPointer && isKnown ? XPointerRequest(of: server, on: drawable) : nil
        let image = isKnown ? XImageRequest(of: server, target, into: sharedMemory()) : nil
        let geometry = server.answer({ xcb_get_geometry_reply($0, geometryCookie, $1) }) { XGeometry($0.pointee) }
        let pointerImage = pointer?.answer(server, left: target.left, top: target.top)
        guard case .reply(let now) = geometry else {
            image?.discard(server)
            return geometry.isGone || target.drawable == server.screen.root ? disconnected : .closed
        }
        guard now == whole, let image else {
            image?.discard(server)
            return resize(in: now, at: captureTime)
        }
        let grab = image.answer(server) { bytes -> GrabResult in
            if let pointerImage { draw(pointerImage, into: bytes) }
            return convert(UnsafeRawBufferPointer(bytes), captureTime: captureTime, timestamp: timestamp)
        }
        switch grab {
        case .reply(let grab): return grab
        case .disconnected: return disconnected
        // The window shrank, or it is not visible and therefore has no image.
        case .refused(XErrorCode.badMatch), .refused(XErrorCode.badDrawable): return isShown ? nil : .hidden
        case .refused(let code):
            guard isShared, memory != nil else {
                return .failed("the X server rejected a screen capture (error \(code))")
            }
            // The server could attach the memory but not write to it, so images are transferred through the socket.
            isShared = false
            memory = nil
            return nil
        }
    }

    /// Adapts to the new size of the drawable.
    private func resize(in geometry: XGeometry, at time: WallTime) -> GrabResult? {
        (whole, capturedAt) = (geometry, time)
        guard target.locate(in: geometry, server) else {
            return server.isGone ? disconnected : .vanished("\(target.name) of \(server.name) no longer exists")
        }
        guard target.dimensions.width <= Self.longestSide, target.dimensions.height <= Self.longestSide else {
            return .failed("a screen of \(target.dimensions) is larger than the maximum frame size")
        }
        return Self.isImage(target.dimensions) ? nil : .hidden
    }

    private static let longestSide = 16_384

    private var disconnected: GrabResult { .vanished("the X server of \(server.name) closed the connection") }

    private static func isImage(_ dimensions: Dimensions) -> Bool { dimensions.width > 1 && dimensions.height > 1 }

    /// Whether the window is visible.
    private var isShown: Bool {
        let cookie = xcb_get_window_attributes(server.connection, target.drawable)
        let state = server.answer({ xcb_get_window_attributes_reply($0, cookie, $1) }) { $0.pointee.map_state }
        // A window that was just closed is reported by the next attempt.
        return state.value.map { UInt32($0) == XCB_MAP_STATE_VIEWABLE.rawValue } ?? true
    }

    /// Returns shared memory for the image; nil if images are transferred through the socket.
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

    private func convert(_ bytes: UnsafeRawBufferPointer, captureTime: WallTime, timestamp: MediaTime) -> GrabResult {
        do {
            return .frame(
                try converter.convert(
                    bytes, format: target.layout.format, dimensions: target.dimensions,
                    stride: target.layout.stride(width: target.dimensions.width), isFullRange: true,
                    captureTime: captureTime, timestamp: timestamp))
        } catch {
            return .failed("the X server's image is invalid: \(error)")
        }
    }

    /// Returns the size without an odd last column or row, because 4:2:0 requires even numbers.
    static func even(_ dimensions: Dimensions) -> Dimensions {
        Dimensions(width: max(2, dimensions.width & ~1), height: max(2, dimensions.height & ~1))
    }
}

/// Shared memory that the server writes images to (MIT-SHM), because the socket is too slow for frames of a screen. The
/// kernel frees it after both processes have detached it, even if they crash.
final class XSharedMemory {
    let byteCount: Int
    let address: UnsafeMutableRawPointer
    let segment: xcb_shm_seg_t
    private let server: XServer

    /// Returns nil if the server cannot attach the memory, because it is on another machine or in another namespace.
    init?(byteCount: Int, server: XServer) {
        let id = shmget(IPC_PRIVATE, byteCount, 0o600)
        guard id >= 0 else { return nil }
        // The segment is marked for removal after its last user detaches it.
        defer { shmctl(id, IPC_RMID, nil) }
        guard let address = shmat(id, nil, 0), Int(bitPattern: address) != -1 else { return nil }
        segment = xcb_generate_id(server.connection)
        guard server.confirm(xcb_shm_attach_checked(server.connection, segment, UInt32(id), 0)) else {
            shmdt(address)
            return nil
        }
        self.byteCount = byteCount
        self.address = address
        self.server = server
    }

    deinit {
        let (connection, segment) = (server.connection, segment)
        BrokenPipe.blocked {
            xcb_shm_detach(connection, segment)
            _ = xcb_flush(connection)
        }
        shmdt(address)
    }
}

/// The image of the pointer, and its position.
struct XPointer {
    let width: Int
    let height: Int
    /// The position of its upper left corner in the captured image.
    let left: Int
    let top: Int
    /// The pixels in rows of ARGB, premultiplied by alpha as XFixes delivers them.
    let pixels: [UInt32]

    /// Draws the pointer over an image, whose rows are `stride` bytes apart.
    func draw(
        into image: UnsafeMutableRawPointer, layout: XPixelLayout, width imageWidth: Int, height imageHeight: Int,
        stride: Int
    ) {
        let (firstColumn, endColumn) = (max(0, -left), min(width, imageWidth - left))
        let (firstRow, endRow) = (max(0, -top), min(height, imageHeight - top))
        guard pixels.count >= width * height, firstColumn < endColumn, firstRow < endRow else { return }
        for row in firstRow..<endRow {
            let line = image + (top + row) * stride
            for column in firstColumn..<endColumn {
                let pixel = pixels[row * width + column]
                // The pixel is fully transparent.
                if pixel == 0 { continue }
                Self.blend(pixel, over: line + (left + column) * layout.bytesPerPixel, layout)
            }
        }
    }

    private static func blend(_ pixel: UInt32, over target: UnsafeMutableRawPointer, _ layout: XPixelLayout) {
        var value: UInt32 = 0
        for byte in 0..<layout.bytesPerPixel {
            value |= UInt32(target.load(fromByteOffset: byte, as: UInt8.self)) << (8 * byte)
        }
        // The weight of the background.
        let rest = 255 - (pixel >> 24)
        for (channel, shift) in [(layout.red, UInt32(16)), (layout.green, 8), (layout.blue, 0)] {
            let target = UInt32(channel.shift)
            let most = (UInt32(1) << channel.width) - 1
            let below = (value >> target) & most
            let above = ((pixel >> shift) & 0xFF) * most
            let blended = min(most, (above + below * rest + 127) / 255)
            value = (value & ~(most << target)) | (blended << target)
        }
        for byte in 0..<layout.bytesPerPixel {
            target.storeBytes(of: UInt8(truncatingIfNeeded: value >> (8 * byte)), toByteOffset: byte, as: UInt8.self)
        }
    }
}

/// Pending requests for the image and the position of the pointer.
struct XPointerRequest {
    private let pointerCookie: xcb_query_pointer_cookie_t
    private let image: xcb_xfixes_get_cursor_image_cookie_t

    init(of server: XServer, on drawable: xcb_drawable_t) {
        pointerCookie = xcb_query_pointer(server.connection, drawable)
        image = xcb_xfixes_get_cursor_image(server.connection)
    }

    /// Waits for both. Returns nil if the pointer is not on this screen. `left` and `top` are the origin of the
    /// captured area in the drawable.
    func answer(_ server: XServer, left: Int, top: Int) -> XPointer? {
        let found = server.answer({ xcb_query_pointer_reply($0, pointerCookie, $1) }) { reply -> (x: Int, y: Int)? in
            guard reply.pointee.same_screen != 0 else { return nil }
            return (Int(reply.pointee.win_x) - left, Int(reply.pointee.win_y) - top)
        }
        let pointer = server.answer({ xcb_xfixes_get_cursor_image_reply($0, image, $1) }) { reply -> XPointer? in
            guard case .reply(let spot?) = found else { return nil }
            let count = Int(xcb_xfixes_get_cursor_image_cursor_image_length(reply))
            let (width, height) = (Int(reply.pointee.width), Int(reply.pointee.height))
            guard count >= width * height, let pixels = xcb_xfixes_get_cursor_image_cursor_image(reply) else {
                return nil
            }
            return XPointer(
                width: width, height: height, left: spot.x - Int(reply.pointee.xhot),
                top: spot.y - Int(reply.pointee.yhot),
                pixels: Array(UnsafeBufferPointer(start: pixels, count: width * height)))
        }
        return pointer.value ?? nil
    }
}
