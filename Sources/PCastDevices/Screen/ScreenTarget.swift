import CXCB
import PCastCore

/// The captured drawable of the server, and the part of it.
struct ScreenTarget {
    let drawable: xcb_drawable_t
    let layout: XPixelLayout
    let area: ScreenSpecification.Area
    /// The ID for the window's own image; nil if it is captured from the screen.
    let pixmap: xcb_pixmap_t?
    /// The origin in the drawable, and the border that surrounds a window's image.
    private(set) var left = 0
    private(set) var top = 0
    private(set) var border = 0
    private(set) var dimensions: Dimensions

    /// Finds the area. Throws `DeviceError.notFound` if the monitor or window does not exist, or `.faulty` if its pixel
    /// format is not supported.
    init(_ area: ScreenSpecification.Area, of server: XServer) throws(DeviceError) {
        self.area = area
        let screen = server.screen
        var visual = screen.rootVisual
        switch area {
        case .screen, .monitor: drawable = screen.root
        case .window(let id):
            drawable = id
            let cookie = xcb_get_window_attributes(server.connection, id)
            let found = server.answer({ xcb_get_window_attributes_reply($0, cookie, $1) }) { reply in
                (
                    visual: reply.pointee.visual,
                    isInputOnly: reply.pointee._class == XCB_WINDOW_CLASS_INPUT_ONLY.rawValue
                )
            }
            guard let window = found.value, !window.isInputOnly else {
                throw .notFound("window 0x\(String(id, radix: 16))", lookedIn: "the X server of \(server.name)")
            }
            visual = window.visual
        }
        let cookie = xcb_get_geometry(server.connection, drawable)
        let found = server.answer({ xcb_get_geometry_reply($0, cookie, $1) }) { $0.pointee }
        guard let geometry = found.value else { throw .notFound("screen", lookedIn: "the X server of \(server.name)") }
        guard let layout = screen.pixels(depth: geometry.depth, visual: visual) else {
            throw .faulty(
                "screen:\(server.name)", reason: "its pixel format of \(geometry.depth) bits is not supported.")
        }
        self.layout = layout
        pixmap = drawable != screen.root && server.hasWindowPixmaps ? xcb_generate_id(server.connection) : nil
        let whole = XGeometry(geometry)
        dimensions = whole.dimensions
        guard locate(in: whole, server) else { throw .notFound(name, lookedIn: "the X server of \(server.name)") }
    }

    /// The name for display.
    var name: String {
        switch area {
        case .screen: "screen"
        case .monitor(let name): "monitor \(name)"
        case .window(let id): "window 0x\(String(id, radix: 16))"
        }
    }

    /// Finds the part again after the size of the drawable changed. Returns whether it still exists.
    mutating func locate(in geometry: XGeometry, _ server: XServer) -> Bool {
        let whole = geometry.dimensions
        (dimensions, border) = (whole, geometry.border)
        guard case .monitor(let name) = area else { return true }
        guard let monitor = XMonitor.all(of: server, withRates: false).first(where: { $0.name == name }) else {
            return false
        }
        (left, top) = (min(max(0, monitor.left), whole.width), min(max(0, monitor.top), whole.height))
        // While both change, a monitor may extend beyond the screen.
        dimensions = Dimensions(
            width: min(monitor.dimensions.width, whole.width - left),
            height: min(monitor.dimensions.height, whole.height - top))
        return true
    }
}

/// The size of a drawable without its border.
struct XGeometry: Hashable {
    let dimensions: Dimensions
    let border: Int

    init(_ reply: xcb_get_geometry_reply_t) {
        dimensions = Dimensions(width: Int(reply.width), height: Int(reply.height))
        border = Int(reply.border_width)
    }
}
