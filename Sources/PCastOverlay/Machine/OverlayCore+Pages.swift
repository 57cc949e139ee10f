import PCastCore
import PCastJSON

/// The handling of messages from pages.
extension OverlayCore {
    /// Adds a connected page, or closes it if the overlay is not loaded or has too many pages.
    mutating func open(_ id: OverlayPage.ID, _ isController: Bool, sendsMessages: Bool, at now: Instant) {
        guard pages[id] == nil else { return }
        // Pages of each kind have their own limit, so that viewing pages cannot keep out a controller.
        let isFull = pages.values.count { $0.isController == isController } >= configuration.pageLimit
        pages[id] = OverlayPage(isController: isController, sendsMessages: sendsMessages, at: now)
        switch phase {
        case .loading, .ready: if isFull { close(id, .tooManyPages) }
        case .idle, .created: close(id, .notLoaded)
        case .destroyed: close(id, status == .disabled ? .disabled : .destroyed)
        }
    }

    /// Handles a message from a page, after it has checked the rate, the format, the sequence number and the
    /// permission.
    mutating func handle(_ text: String, from id: OverlayPage.ID, at now: Instant) {
        guard pages[id] != nil, pages[id]?.closing == nil else { return }
        guard pages[id]?.maySendMessage(at: now) == true else { return close(id, .tooManyMessages) }
        let (request, epoch): (OverlayRequest, Int64)
        do throws(OverlayWireError) {
            let envelope = try OverlayEnvelope(text: text)
            (request, epoch) = (try OverlayRequest(envelope, text: text), envelope.epoch)
            guard pages[id]?.isNew(envelope.sequence) == true else {
                return reportProtocolError(id, "message \(envelope.sequence) was already received")
            }
        } catch {
            return reportProtocolError(id, error.description)
        }
        pages[id]?.lastReceivedAt = now
        guard let page = pages[id] else { return }
        let isPermitted =
            page.isController || request.needsNoController || page.sendsMessages && request.isForApplication
        guard isPermitted else {
            return reportProtocolError(id, "a page without a controller token may not send this message")
        }
        perform(request, of: epoch, from: id, at: now)
    }

    /// Performs the request of a page. `epoch` is the epoch that the page knew.
    private mutating func perform(
        _ request: OverlayRequest, of epoch: Int64, from id: OverlayPage.ID, at now: Instant
    ) {
        switch request {
        case .bridgeReady: listen(id, at: now)
        case .appLoading:
            pages[id]?.hasLoaded = false
            updateReadinessAfterLoss(at: now)
        case .appReady:
            pages[id]?.hasLoaded = true
            updateReadiness()
        case .keepAlive: break
        case .failed(let error): raise(error)
        case .message(.bridgeAppStatus(let status)): setStatus(status, from: id)
        case .message(let message):
            guard !isPaused else { return refuse(id, "the overlay is paused") }
            perform(message, of: epoch, from: id)
        }
    }

    /// Starts sending to a page that is ready to receive, beginning with the current state.
    private mutating func listen(_ id: OverlayPage.ID, at now: Instant) {
        guard let page = pages[id], !page.isListening else {
            return reportProtocolError(id, "bridge.ready was already received")
        }
        let isFirst = !controllers.contains { _ in true }
        pages[id]?.isListening = true
        pages[id]?.nextKeepAlive = now.advanced(by: configuration.keepAlive)
        if page.isController, isFirst { notify(.bridgeReady) }
        sendReport(id, OverlayReport(.bridgeWelcome, ["controller": .boolean(page.isController)]))
        if !isPaused { replay(to: id) }
        updateReadiness()
    }

    /// Handles a request that concerns the application or the player.
    private mutating func perform(_ message: OverlayMessage, of epoch: Int64, from id: OverlayPage.ID) {
        switch message {
        case .bridgeLanguage(let language, _):
            // A repeated language is ignored. Otherwise two pages, each of which adopts the language of the other,
            // would exchange messages without end.
            guard message != languageMessage else { return }
            languageMessage = message
            notify(message)
            guard self.language != language else { return }
            self.language = language
            report(message, except: id)
        case .bridgeTime where epoch < itemEpoch: refuse(id, "the content has changed since then")
        default:
            notify(message)
            if message.isCommand { outputs.append(.command(message)) }
        }
    }

    // MARK: Faults

    /// Reports to a page that its request was rejected.
    private mutating func refuse(_ id: OverlayPage.ID, _ reason: String) {
        guard pages[id]?.isListening == true else { return }
        sendReport(id, OverlayReport(.bridgeError, ["reason": .string(reason)]))
    }

    /// Reports an invalid message to the page and, the first few times, to the application. After too many it closes
    /// the page.
    mutating func reportProtocolError(_ id: OverlayPage.ID, _ reason: String) {
        guard let page = pages[id], page.closing == nil else { return }
        let faults = page.faults + 1
        pages[id]?.faults = faults
        refuse(id, reason)
        if faults <= OverlayPage.maximumWarnings {
            notify(.easeLiveError(.bridgeConnectivity(level: .warning, reason: "page \(id.number): \(reason)")))
        }
        if faults >= OverlayPage.maximumFaults { close(id, .malformed) }
    }
}
