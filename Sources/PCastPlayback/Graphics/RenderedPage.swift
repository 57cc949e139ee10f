import Foundation
import PCastCodecs
public import PCastCore
import PCastJSON
import Synchronization

/// A web page that is drawn over what a ``PlaybackOutlet`` gives out, for those who cannot or need not run a browser
/// themselves: graphics in the cloud.
///
/// The page is laid out at a size of its own and scaled to each picture. Its background is transparent where the page does
/// not say otherwise. A Chromium without a window draws it when something on it changes; thirty times a second at most the newest
/// drawing is laid over the pictures, and stays until the next. Links that people follow, dialogs and sound are not for it.
public final class RenderedPage: Sendable {
    private let browser: Browser
    private let layer: PageLayer

    /// Opens a page and has it drawn.
    ///
    /// - Parameters:
    ///   - address: of http, https or file, or one that holds the page itself (data:).
    ///   - dimensions: for which it is laid out, in its own pixels.
    ///   - browser: Chromium or one that understands its protocol; a name is looked for in PATH.
    ///   - isSandboxed: false runs pages without a sandbox, as Chromium does for root alone; a page that breaks out of
    ///     the browser may do all that this process may.
    /// - Throws: `PageError`.
    public static func open(
        _ address: String, dimensions: Dimensions = Dimensions(width: 1280, height: 720), over outlet: PlaybackOutlet,
        browser: String = "chromium", isSandboxed: Bool = true
    ) async throws(PageError) -> RenderedPage {
        let layer = PageLayer(over: outlet)
        let page = RenderedPage(
            try Browser(browser, isSandboxed: isSandboxed) { event, browser in
                Self.take(event, of: browser, onto: layer)
            }, layer)
        do {
            try await page.load(address, dimensions)
        } catch {
            await page.close()
            throw error
        }
        return page
    }

    private init(_ browser: Browser, _ layer: PageLayer) {
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
            ("Page.startScreencast", ["format": "png"]),
        ]
        for (method, parameters) in steps { _ = try await browser.ask(method, parameters, session: session?.string) }
        let loaded = try await browser.ask("Page.navigate", ["url": .string(address)], session: session?.string)
        if let reason = loaded["errorText"]?.string { throw .notLoaded(address, reason: reason) }
    }

    private static func take(_ event: Browser.Event, of browser: Browser, onto layer: PageLayer) {
        switch event.method {
        case "Page.screencastFrame":
            // At once: while two are not acknowledged the browser leaves out what it draws, and of a page that then stands
            // still that would be the last word.
            browser.tell(
                "Page.screencastFrameAck", ["sessionId": event.parameters["sessionId"] ?? .null],
                session: event.session)
            if let text = event.parameters["data"]?.string { layer.lay(text) }
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
///
/// Of what is drawn faster than pictures change the newest is laid, thirty times a second.
private final class PageLayer: Sendable {
    private struct State {
        /// The newest drawing that was not laid yet.
        var waiting: String?
        var isLaying = false
        var isRemoved = false
    }

    private static let interval = Duration.milliseconds(33)

    private let outlet: PlaybackOutlet
    private let state = Mutex(State())

    init(over outlet: PlaybackOutlet) { self.outlet = outlet }

    /// - Parameter drawing: a PNG file, in Base64.
    func lay(_ drawing: String) {
        let begins = state.withLock { state in
            state.waiting = drawing
            defer { state.isLaying = true }
            return !state.isLaying
        }
        guard begins else { return }
        Task {
            while let drawing = next() {
                if let bytes = Data(base64Encoded: drawing),
                    let graphic = try? Graphic(premultipliedPNG: Array(bytes))
                {
                    state.withLock { if !$0.isRemoved { outlet.lay(graphic) } }
                }
                try? await Task.sleep(for: Self.interval)
            }
        }
    }

    private func next() -> String? {
        state.withLock { state in
            defer { state.waiting = nil }
            if state.waiting == nil { state.isLaying = false }
            return state.waiting
        }
    }

    func remove() {
        state.withLock { state in
            if !state.isRemoved { outlet.lay(nil) }
            state.isRemoved = true
        }
    }
}
