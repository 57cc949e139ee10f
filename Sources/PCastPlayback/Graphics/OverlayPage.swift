import Foundation
import PCastCodecs
public import PCastMedia
import Synchronization

/// A web page that is drawn over what a ``PlaybackOutlet`` gives out, for those who cannot or need not run a browser
/// themselves: graphics in the cloud.
///
/// The page is laid out at a size of its own and scaled to each picture. Its background is transparent where the page does
/// not say otherwise. A Chromium without a window draws it when something on it changes, up to thirty times a second, and
/// each drawing stays until the next. Links that people follow, dialogs and sound are not for it.
public final class OverlayPage: Sendable {
    /// Every other of the browser's frames, of which there are sixty a second.
    private static let frameInterval: JSONValue = 2

    private let browser: Browser
    private let layer: OverlayLayer

    /// Opens a page and has it drawn.
    ///
    /// - Parameters:
    ///   - address: of http, https or file, or one that holds the page itself (data:).
    ///   - dimensions: for which it is laid out, in its own pixels.
    ///   - browser: Chromium or one that understands its protocol; a name is looked for in PATH.
    /// - Throws: `PageError`.
    public static func open(
        _ address: String, dimensions: Dimensions = Dimensions(width: 1280, height: 720), over outlet: PlaybackOutlet,
        browser: String = "chromium"
    ) async throws(PageError) -> OverlayPage {
        let layer = OverlayLayer(over: outlet)
        let page = OverlayPage(
            try Browser(browser) { event, browser in Self.take(event, of: browser, onto: layer) }, layer)
        do {
            try await page.load(address, dimensions)
        } catch {
            await page.close()
            throw error
        }
        return page
    }

    private init(_ browser: Browser, _ layer: OverlayLayer) {
        (self.browser, self.layer) = (browser, layer)
    }

    deinit {
        browser.end(.ended("it was closed"))
        layer.remove()
    }

    private func load(_ address: String, _ dimensions: Dimensions) async throws(PageError) {
        let target = try await browser.ask("Target.createTarget", ["url": "about:blank"])["targetId"] ?? .null
        let session = try await browser.ask("Target.attachToTarget", ["targetId": target, "flatten": true])["sessionId"]
        let steps: [(String, JSONValue)] = [
            ("Page.enable", [:]), ("Inspector.enable", [:]),
            (
                "Emulation.setDeviceMetricsOverride",
                [
                    "width": .integer(Int64(dimensions.width)), "height": .integer(Int64(dimensions.height)),
                    "deviceScaleFactor": 1, "mobile": false,
                ]
            ),
            ("Emulation.setDefaultBackgroundColorOverride", ["color": ["r": 0, "g": 0, "b": 0, "a": 0]]),
            ("Page.startScreencast", ["format": "png", "everyNthFrame": Self.frameInterval]),
        ]
        for (method, parameters) in steps { _ = try await browser.ask(method, parameters, session: session?.string) }
        let loaded = try await browser.ask("Page.navigate", ["url": .string(address)], session: session?.string)
        if let reason = loaded["errorText"]?.string { throw .notLoaded(address, reason: reason) }
    }

    private static func take(_ event: Browser.Event, of browser: Browser, onto layer: OverlayLayer) {
        switch event.method {
        case "Page.screencastFrame":
            if let text = event.parameters["data"]?.string, let bytes = Data(base64Encoded: text),
                let graphic = try? Graphic(premultipliedPNG: Array(bytes))
            {
                layer.lay(graphic)
            }
            // The next one comes when this one has been acknowledged: no more are drawn than can be used.
            browser.tell(
                "Page.screencastFrameAck", ["sessionId": event.parameters["sessionId"] ?? .null],
                session: event.session)
        case "Page.javascriptDialogOpening":
            browser.tell("Page.handleJavaScriptDialog", ["accept": false], session: event.session)
        case "Inspector.targetCrashed":
            browser.end(.ended("the page crashed"))
        default: break
        }
    }

    /// Waits until the page is not drawn any more, and tells why: ``close()`` was called, or it crashed. What was drawn last
    /// has been taken away then.
    public func ended() async -> PageError {
        let reason = await browser.ended()
        layer.remove()
        return reason
    }

    /// Ends it, and returns when nothing is left of its browser. Harmless when called again.
    public func close() async {
        browser.end(.ended("it was closed"))
        layer.remove()
        await browser.gone()
    }
}

/// A page's place over the pictures: nothing is laid there once it was removed.
private final class OverlayLayer: Sendable {
    private let outlet: PlaybackOutlet
    private let isThere = Mutex(true)

    init(over outlet: PlaybackOutlet) { self.outlet = outlet }

    func lay(_ graphic: Graphic) {
        isThere.withLock { if $0 { outlet.lay(graphic) } }
    }

    func remove() {
        isThere.withLock { isThere in
            if isThere { outlet.lay(nil) }
            isThere = false
        }
    }
}
