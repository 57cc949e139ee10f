import Foundation
import PCastCodecs
public import PCastCore
import PCastJSON
import Synchronization

/// A web page that is rendered over the frames of a ``PlaybackCapture``, for viewers without a browser.
///
/// The page has its own layout size and is scaled to each frame. Its background is transparent unless the page sets
/// one. A headless Chromium renders it after each change. The newest image is drawn over the frames until the next one,
/// at most 30 times per second. There is no input, no dialogs and no audio.
public final class RenderedPage: Sendable {
    private let browser: Browser
    private let layer: PageLayer

    /// Opens a page and begins to render it. `address` has the scheme http, https, file or data. `dimensions` is the
    /// layout size in CSS pixels. `browser` is a Chromium, by path or by a name that is looked up in PATH. If
    /// `isSandboxed` is false, pages run without a sandbox, as Chromium requires for root; a page that exploits the
    /// browser then has all permissions of this process. Throws a ``PageError``.
    public static func open(
        _ address: String, dimensions: Dimensions = Dimensions(width: 1280, height: 720), over capture: PlaybackCapture,
        browser: String = "chromium", isSandboxed: Bool = true
    ) async throws(PageError) -> RenderedPage {
        let layer = PageLayer(over: capture)
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

    /// Configures the page and loads it.
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

    /// Handles an event of the page.
    private static func take(_ event: Browser.Event, of browser: Browser, onto layer: PageLayer) {
        switch event.method {
        case "Page.screencastFrame":
            // The acknowledgment is immediate: Chromium drops frames while two are not acknowledged, and the last frame
            // of a still page would be lost.
            browser.notify(
                "Page.screencastFrameAck", ["sessionId": event.parameters["sessionId"] ?? .null],
                session: event.session)
            if let text = event.parameters["data"]?.string { layer.setGraphic(text) }
        case "Page.javascriptDialogOpening":
            browser.notify("Page.handleJavaScriptDialog", ["accept": false], session: event.session)
        case "Inspector.targetCrashed":
            browser.end(.ended("the page crashed"))
        default: break
        }
    }

    /// Waits until the page is not rendered any more, because ``close()`` was called or it crashed, and returns the
    /// reason. Its last image has been removed then.
    public func ended() async -> PageError {
        let reason = await browser.ended()
        layer.remove()
        return reason
    }

    /// Ends the page, and waits until its browser has ended. It has no effect if it was called before.
    public func close() async {
        browser.end(.ended("it was closed"))
        layer.remove()
        await browser.awaitExit()
    }
}

/// The layer of a page over the frames. After its removal it draws nothing.
///
/// If the page renders faster than 30 times per second, only the newest image is drawn.
private final class PageLayer: Sendable {
    private struct State {
        /// The newest image that was not drawn yet; nil for none.
        var waiting: String?
        var isLaying = false
        var isRemoved = false
    }

    /// The minimum interval between two images.
    private static let interval = Duration.milliseconds(33)

    private let capture: PlaybackCapture
    private let state = Mutex(State())

    init(over capture: PlaybackCapture) { self.capture = capture }

    /// Draws an image, a PNG file in Base64, when its interval allows.
    func setGraphic(_ drawing: String) {
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
                    state.withLock { if !$0.isRemoved { capture.setGraphic(graphic) } }
                }
                try? await Task.sleep(for: Self.interval)
            }
        }
    }

    /// Returns and removes the newest image; nil if there is none.
    private func next() -> String? {
        state.withLock { state in
            defer { state.waiting = nil }
            if state.waiting == nil { state.isLaying = false }
            return state.waiting
        }
    }

    /// Removes the layer.
    func remove() {
        state.withLock { state in
            if !state.isRemoved { capture.setGraphic(nil) }
            state.isRemoved = true
        }
    }
}
