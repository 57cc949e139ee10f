import Foundation
import PCastCodecs
public import PCastCore
import PCastIO
import PCastJSON
import PCastOverlay
import Synchronization

/// A web page that is rendered over the frames of a ``PlaybackCapture``, for viewers without a browser, or behind the scaled
/// video of a ``Player``.
///
/// The page has its own layout size and is scaled to each frame. Its background is transparent unless the page sets
/// one. A headless Chromium renders it after each change. The newest image is drawn over the frames until the next one,
/// at most 30 times per second. The audio of a page over a capture is mixed with that of the content. Images and audio are presented 0.2 s
/// after the browser has drawn and played them. There is no input, and there are no dialogs.
///
/// If the page belongs to an overlay, it receives the messages of the overlay's player, as a page of ``OverlayBridge``
/// without a token: `connect()` of `/bridge.js` connects it, from whatever server it is loaded.
public final class RenderedPage: Sendable {
    private let browser: Browser
    private let layer: PageLayer
    private let sessions: PageSessions

    /// The reason why the audio of a page over a capture is not mixed in; nil if it is.
    public var audioFailure: String? { sessions.audioFailure.withLock { $0 } }

    /// Opens a page and begins to render it. `address` has the scheme http, https, file or data. `dimensions` is the
    /// layout size in CSS pixels. `browser` is a Chromium, by path or by a name that is looked up in PATH. If
    /// `isSandboxed` is false, pages run without a sandbox, as Chromium requires for root; a page that exploits the
    /// browser then has all permissions of this process. `overlay` is the overlay whose messages the page receives; nil
    /// for none. Throws a ``PageError``.
    ///
    /// If the browser cannot capture the page's audio, the page is silent (``audioFailure``).
    public static func open(
        _ address: String, dimensions: Dimensions = Dimensions(width: 1280, height: 720), over capture: PlaybackCapture,
        browser: String = "chromium", isSandboxed: Bool = true, overlay: Overlay? = nil
    ) async throws(PageError) -> RenderedPage {
        let reason: String
        do throws(AudioFailure) {
            return try await open(
                address, dimensions, on: PageLayer { [capture] in capture.setGraphic($0) }, browser, isSandboxed,
                overlay,
                capturing: capture)
        } catch {
            switch error {
            case .page(let error): throw error
            case .audio(let why): reason = why
            }
        }
        // Another browser is started, which plays no audio on this host.
        do throws(AudioFailure) {
            let page = try await open(
                address, dimensions, on: PageLayer { [capture] in capture.setGraphic($0) }, browser, isSandboxed,
                overlay,
                capturing: nil)
            page.sessions.audioFailure.withLock { $0 = reason }
            return page
        } catch {
            switch error {
            case .page(let error): throw error
            case .audio(let why): throw .ended(why)
            }
        }
    }

    /// Opens a page and begins to render it as the background of a player's video. It is seen around the video while that
    /// is scaled (``Player/setVideoScale(_:)``), instead of black, and it has no effect if the player's frames are not
    /// composed. It is silent, and receives no messages. The other parameters and errors are those of a page over the frames
    /// of a capture.
    public static func open(
        _ address: String, dimensions: Dimensions = Dimensions(width: 1280, height: 720), behind player: Player,
        browser: String = "chromium", isSandboxed: Bool = true
    ) async throws(PageError) -> RenderedPage {
        let composition = player.composition
        let layer = PageLayer { composition?.setBackground($0) }
        do throws(AudioFailure) {
            return try await open(address, dimensions, on: layer, browser, isSandboxed, nil, capturing: nil)
        } catch {
            switch error {
            case .page(let error): throw error
            case .audio(let why): throw .ended(why)
            }
        }
    }

    /// A reason why a page was not opened.
    private enum AudioFailure: Error {
        case page(PageError)
        /// Its audio cannot be captured.
        case audio(String)
    }

    /// Opens a page. `capture` receives its audio; nil for none.
    private static func open(
        _ address: String, _ dimensions: Dimensions, on layer: PageLayer, _ program: String, _ isSandboxed: Bool,
        _ overlay: Overlay?, capturing capture: PlaybackCapture?
    ) async throws(AudioFailure) -> RenderedPage {
        // The title is secret, so that a page cannot have itself captured.
        let title = capture == nil ? nil : "pcast-\(UUID().uuidString)"
        let sessions = PageSessions(overlay)
        let page: RenderedPage
        do throws(PageError) {
            page = RenderedPage(
                try Browser(program, isSandboxed: isSandboxed, capturing: title) { event, browser in
                    Self.take(event, of: browser, onto: layer, sessions)
                }, layer, sessions)
        } catch {
            throw .page(error)
        }
        do throws(AudioFailure) {
            try await page.load(address, dimensions, title, over: capture)
        } catch {
            await page.close()
            throw error
        }
        return page
    }

    private init(_ browser: Browser, _ layer: PageLayer, _ sessions: PageSessions) {
        (self.browser, self.layer, self.sessions) = (browser, layer, sessions)
    }

    deinit {
        browser.end(.ended("it was closed"))
        layer.remove()
        sessions.end()
    }

    /// Configures the page and loads it. `title` is the title by which the capture of its audio finds it; nil for no
    /// audio.
    private func load(
        _ address: String, _ dimensions: Dimensions, _ title: String?, over capture: PlaybackCapture?
    ) async throws(AudioFailure) {
        let reason: String?
        do throws(PageError) {
            let (target, session) = try await browser.openTab(
                title.map { "data:text/html,<title>\($0)</title>" } ?? "about:blank")
            reason = if let title, let capture { await audioReason(title, of: target, over: capture) } else { nil }
            if reason == nil { try await show(address, dimensions, in: session) }
        } catch {
            throw .page(error)
        }
        if let reason { throw .audio(reason) }
    }

    /// Begins to capture the audio of the tab with a title. Returns the reason if it cannot be captured.
    private func audioReason(_ title: String, of target: String, over capture: PlaybackCapture) async -> String? {
        do throws(PageError) {
            try await browser.awaitTitle(title, of: target)
            return try await captureAudio(over: capture)
        } catch {
            return "\(error)"
        }
    }

    /// Begins to capture the audio of the page. Returns the reason if it cannot be captured.
    private func captureAudio(over capture: PlaybackCapture) async throws(PageError) -> String? {
        // The capturing page must have a secure context, such as a file has.
        guard let document = browser.write(PageAudioCapture.document, to: "capture.html") else {
            return "the capturing page cannot be written"
        }
        let (_, session) = try await browser.openTab("about:blank")
        // Mixing ends with the sessions.
        do throws(IOError) {
            sessions.setCapture(try PageAudio(over: capture), by: session)
        } catch {
            return "\(error)"
        }
        _ = try await browser.ask("Runtime.enable", session: session)
        _ = try await browser.ask("Runtime.addBinding", ["name": .string(PageAudioCapture.binding)], session: session)
        let loaded = try await browser.ask("Page.navigate", ["url": .string(document)], session: session)
        if let reason = loaded["errorText"]?.string { return reason }
        try await browser.awaitTruth(of: "typeof begin === 'function'", in: session)
        let answer = try await browser.ask(
            "Runtime.evaluate",
            ["expression": "begin()", "awaitPromise": true, "userGesture": true, "returnByValue": true],
            session: session)
        guard let reason = answer["result"]?["value"]?.string else { return "the capturing page has failed" }
        return reason.isEmpty ? nil : reason
    }

    /// Shows the page in a tab.
    private func show(_ address: String, _ dimensions: Dimensions, in session: String) async throws(PageError) {
        var steps: [(String, JSONValue)] = [
            ("Page.enable", [:]), ("Inspector.enable", [:]), ("Page.bringToFront", [:]),
            (
                "Emulation.setDeviceMetricsOverride",
                [
                    "width": .integer(Int64(dimensions.width)), "height": .integer(Int64(dimensions.height)),
                    "deviceScaleFactor": 1, "mobile": false,
                ]
            ),
            ("Emulation.setDefaultBackgroundColorOverride", ["color": ["r": 0, "g": 0, "b": 0, "a": 0]]),
        ]
        if let bridge = sessions.bridge {
            bridge.attach(browser, session)
            steps += [
                ("Runtime.enable", [:]), ("Runtime.addBinding", ["name": .string(PageBridge.binding)]),
                ("Page.addScriptToEvaluateOnNewDocument", ["source": .string(PageBridge.script)]),
            ]
        }
        steps.append(("Page.startScreencast", ["format": "png"]))
        for (method, parameters) in steps { _ = try await browser.ask(method, parameters, session: session) }
        let loaded = try await browser.ask("Page.navigate", ["url": .string(address)], session: session)
        if let reason = loaded["errorText"]?.string { throw .notLoaded(address, reason: reason) }
    }

    /// Handles an event of the page.
    private static func take(
        _ event: Browser.Event, of browser: Browser, onto layer: PageLayer, _ sessions: PageSessions
    ) {
        switch event.method {
        case "Page.screencastFrame":
            // The acknowledgment is immediate: Chromium drops frames while two are not acknowledged, and the last frame
            // of a still page would be lost.
            browser.notify(
                "Page.screencastFrameAck", ["sessionId": event.parameters["sessionId"] ?? .null],
                session: event.session)
            if let text = event.parameters["data"]?.string {
                // The time is that of the drawing, in seconds since 1970.
                let seconds = event.parameters["metadata"]?["timestamp"]?.number
                layer.setGraphic(text, drawn: seconds.flatMap(Self.wallTime))
            }
        case "Runtime.bindingCalled":
            sessions.take(event, at: MonotonicClock.now())
        case "Page.javascriptDialogOpening":
            browser.notify("Page.handleJavaScriptDialog", ["accept": false], session: event.session)
        case "Inspector.targetCrashed":
            browser.end(.ended("the page crashed"))
        default: break
        }
    }

    /// Returns a time in seconds since 1970; nil if it is out of range.
    private static func wallTime(_ seconds: Double) -> WallTime? {
        guard seconds > 0, seconds < 9e9 else { return nil }
        return WallTime(nanosecondsSinceEpoch: Int64(seconds * 1e9))
    }

    /// Waits until the page is not rendered any more, because ``close()`` was called or it crashed, and returns the
    /// reason. Its last image has been removed then.
    public func ended() async -> PageError {
        let reason = await browser.ended()
        layer.remove()
        sessions.end()
        return reason
    }

    /// Ends the page, and waits until its browser has ended. It has no effect if it was called before.
    public func close() async {
        browser.end(.ended("it was closed"))
        layer.remove()
        sessions.end()
        await browser.awaitExit()
    }
}

/// The parts of a rendered page that receive what its tabs report.
private final class PageSessions: Sendable {
    private struct Capture {
        var audio: PageAudio
        var session: String
    }

    /// The connection with the overlay; nil without one.
    let bridge: PageBridge?
    /// The reason why there is no audio; nil if there is.
    let audioFailure = Mutex<String?>(nil)
    private let capture = Mutex<Capture?>(nil)

    init(_ overlay: Overlay?) { bridge = overlay.map { PageBridge($0) } }

    /// Sets the tab that captures the audio.
    func setCapture(_ audio: PageAudio, by session: String) {
        capture.withLock { $0 = Capture(audio: audio, session: session) }
    }

    /// Handles a call of a function that was added to a page.
    func take(_ event: Browser.Event, at arrival: Instant) {
        guard let name = event.parameters["name"]?.string, let payload = event.parameters["payload"]?.string else {
            return
        }
        if name == PageBridge.binding {
            bridge?.take(payload, from: event.session)
        } else if let capture = capture.withLock({ $0 }), capture.session == event.session {
            capture.audio.take(payload, at: arrival)
        }
    }

    /// Ends all parts.
    func end() {
        bridge?.end()
        capture.withLock { $0 }?.audio.end()
    }
}

/// The layer of a page over the frames. After its removal it draws nothing.
///
/// If the page renders faster than 30 times per second, images are left out. Each image is drawn ``PageTiming/delay``
/// after the browser has drawn it, or at once if it arrives later.
private final class PageLayer: Sendable {
    private struct State {
        /// The images that were not drawn yet, with the times at which the browser has drawn them.
        var waiting: [(image: String, drawn: WallTime?)] = []
        var isLaying = false
        var isRemoved = false
    }

    /// The minimum interval between two images.
    private static let interval = TimeSpan.milliseconds(33)

    /// The maximum number of images that wait, a third of a second. Of more, the oldest one is left out.
    private static let maximumWaiting = 10

    private let sink: @Sendable (Graphic?) -> Void
    private let state = Mutex(State())

    /// Creates a layer. `sink` draws an image from now on; nil for none.
    init(_ sink: @escaping @Sendable (Graphic?) -> Void) { self.sink = sink }

    /// Draws an image, a PNG file in Base64, when it is due. `drawn` is the time at which the browser has drawn it; nil
    /// if unknown.
    func setGraphic(_ image: String, drawn: WallTime?) {
        let begins = state.withLock { state in
            guard !state.isRemoved else { return false }
            if let last = state.waiting.last?.drawn, let drawn, drawn - last < Self.interval {
                // The newer one is drawn at the time of the one that it replaces, so that a fast page is drawn, too.
                state.waiting[state.waiting.count - 1].image = image
            } else {
                if state.waiting.count == Self.maximumWaiting { state.waiting.removeFirst() }
                state.waiting.append((image, drawn))
            }
            defer { state.isLaying = true }
            return !state.isLaying
        }
        guard begins else { return }
        Task {
            while let (image, drawn) = next() {
                // An image that is late is left out if another one follows. One that was decoded is drawn, so that a page
                // whose images take long to decode is drawn, too.
                let isLate = PageTiming.remaining(of: drawn, at: MonotonicClock.wallTime()) == .zero
                if isLate, state.withLock({ !$0.waiting.isEmpty }) { continue }
                let graphic = Data(base64Encoded: image).flatMap { try? Graphic(premultipliedPNG: Array($0)) }
                let remaining = PageTiming.remaining(of: drawn, at: MonotonicClock.wallTime())
                if remaining > .zero { try? await Task.sleep(for: remaining.duration) }
                if let graphic { state.withLock { if !$0.isRemoved { sink(graphic) } } }
            }
        }
    }

    /// Returns and removes the oldest image, without those that the next one replaces at once; nil if there is none.
    private func next() -> (image: String, drawn: WallTime?)? {
        let now = MonotonicClock.wallTime()
        return state.withLock { state in
            // They are left out before they are decoded, so that a machine that decodes slowly draws some of them.
            while state.waiting.count > 1, PageTiming.remaining(of: state.waiting[1].drawn, at: now) == .zero {
                state.waiting.removeFirst()
            }
            guard !state.waiting.isEmpty else {
                state.isLaying = false
                return nil
            }
            return state.waiting.removeFirst()
        }
    }

    /// Removes the layer.
    func remove() {
        state.withLock { state in
            if !state.isRemoved { sink(nil) }
            state.isRemoved = true
            state.waiting = []
        }
    }
}
