import PCastJSON
import PCastOverlay
import Synchronization

/// The connection of a rendered page with an overlay, over the control connection of its browser. The page cannot
/// control the player.
///
/// `connect()` of `/bridge.js` asks the window for a `MessagePort`, as a page that lies over a viewer of `/pcast.mjs`
/// asks its parent. ``script`` answers.
final class PageBridge: Sendable {
    private struct State {
        weak var browser: Browser?
        /// The session of the page's tab.
        var session: String?
        /// The connected document; nil for none.
        var page: OverlayPage.ID?
        /// The name by which the document recognizes its messages.
        var name = ""
        /// Whether the document may have messages.
        var isWoken = false
        var isSending = false
        var isOver = false
    }

    /// The function that is added to the page. ``script`` removes it before other scripts run.
    static let binding = "pcastBridgeSend"
    /// The maximum size of a message in bytes, above which a document is disconnected.
    private static let longestMessage = 256 << 10
    /// The maximum size of a document's name in bytes.
    private static let longestName = 64

    /// The script that runs in each document before its own. A call of the function ``binding`` has the text `oNAME` for
    /// a document that connects, or `mMESSAGE`.
    static let script = """
        (() => {
          const send = globalThis.\(binding);
          delete globalThis.\(binding);
          if (window !== window.top || typeof send !== "function") return;
          let port = null;
          let name = "";
          const deliver = (to, message) => { if (to === name) port?.postMessage(message); };
          Object.defineProperty(globalThis, "pcastBridge", { value: Object.freeze({ deliver }) });
          addEventListener("message", ({ source, data, ports }) => {
            if (source !== window || data?.type !== "pcast-bridge" || ports.length > 0) return;
            const { port1, port2 } = new MessageChannel();
            const own = Math.random().toString(36).slice(2);
            port?.close();
            [port, name] = [port1, own];
            port1.onmessage = ({ data }) => {
              if (own === name && typeof data === "string" && data.length <= \(longestMessage)) send(`m${data}`);
            };
            window.postMessage({ type: "pcast-bridge" }, "*", [port2]);
            send(`o${own}`);
          });
        })();
        """

    private let overlay: Overlay
    private let state = Mutex(State())

    /// Creates a connection without a page.
    init(_ overlay: Overlay) { self.overlay = overlay }

    /// Sets the browser and the session of the page's tab.
    func attach(_ browser: Browser, _ session: String) {
        state.withLock { ($0.browser, $0.session) = (browser, session) }
    }

    /// Handles a call of the function ``binding``. Calls of other tabs are ignored.
    func take(_ call: String, from session: String?) {
        guard state.withLock({ session != nil && $0.session == session && !$0.isOver }) else { return }
        switch call.utf8.first {
        case UInt8(ascii: "o") where call.utf8.count <= Self.longestName: open(String(call.dropFirst()))
        case UInt8(ascii: "m"):
            guard let page = state.withLock({ $0.page }) else { return }
            if call.utf8.count <= Self.longestMessage {
                overlay.page(page, message: String(call.dropFirst()))
            } else {
                close()
            }
        default: break
        }
    }

    /// Connects a document in place of the one before it.
    private func open(_ name: String) {
        close()
        // The document can be woken before its ID is returned.
        state.withLock { $0.name = name }
        let page = overlay.openPage(isController: false, sendsMessages: true) { [weak self] page in self?.wake(page) }
        let isOver = state.withLock { state in
            if !state.isOver { state.page = page }
            return state.isOver
        }
        if isOver { overlay.closePage(page) } else { wake(page) }
    }

    /// Disconnects the document, unless it is not `expected` any more.
    private func close(_ expected: OverlayPage.ID? = nil) {
        let page = state.withLock { state -> OverlayPage.ID? in
            guard expected == nil || state.page == expected else { return nil }
            defer { (state.page, state.name) = (nil, "") }
            return state.page
        }
        if let page { overlay.closePage(page) }
    }

    /// Disconnects the document permanently.
    func end() {
        state.withLock { $0.isOver = true }
        close()
    }

    /// Sends the messages for a document.
    private func wake(_ page: OverlayPage.ID) {
        let begins = state.withLock { state in
            state.isWoken = true
            guard state.page == page, !state.isSending else { return false }
            state.isSending = true
            return true
        }
        guard begins else { return }
        Task { await send() }
    }

    /// Sends messages one after another, as fast as the document handles them, until there are none.
    private func send() async {
        while let (page, name, browser, session) = next() {
            while let outgoing = overlay.takeOutgoing(for: page) {
                let message: JSONValue
                switch outgoing {
                case .text(let text): message = .string(text)
                case .close(let closing):
                    message = ["code": .integer(Int64(closing.rawValue)), "reason": .string(closing.reason)]
                }
                let arguments = "\(JSONValue.string(name).text), \(message.text)"
                // An error means that the document is gone or is about to be.
                _ = try? await browser.ask(
                    "Runtime.evaluate", ["expression": .string("globalThis.pcastBridge?.deliver(\(arguments))")],
                    session: session)
                if case .close = outgoing { close(page) }
            }
        }
    }

    /// Returns the document that was woken; nil if there is none.
    private func next() -> (OverlayPage.ID, String, Browser, String)? {
        state.withLock { state in
            guard state.isWoken, let page = state.page, let browser = state.browser, let session = state.session
            else {
                state.isSending = false
                return nil
            }
            state.isWoken = false
            return (page, state.name, browser, session)
        }
    }
}
