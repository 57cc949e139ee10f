import PCastCore
import PCastJSON

/// The handling of messages from the application, plugins and the player.
extension OverlayCore {
    /// The messages that a new page receives if they were sent before, in this order.
    private static let replayed: [OverlayEventName] = [
        .appStatus, .playerReady, .playerState, .playerTime, .playerVolume, .playerMute, .playerSpeed,
        .playerVideoScale,
        .playerControls, .appLanguage,
    ]

    /// Handles a message: notifies listeners, forwards commands to the player, and reports state to the pages.
    mutating func post(_ message: OverlayMessage, isPublished: Bool) {
        guard phase != .destroyed else { return }
        switch message {
        case .easeLiveError(let error): return raise(error, isPublished: isPublished)
        case .bridgeAppStatus(let status): return setStatus(status, isPublished: isPublished)
        case .bridgeTime, .bridgeState, .bridgeSpeed, .bridgeVolume, .bridgeMute, .bridgeVideoScale, .bridgeStage,
            .bridgeStageSwipe:
            notify(message, isPublished: isPublished)
            if phase != .idle { outputs.append(.command(message)) }
        case .easeLiveReady, .bridgeReady, .bridgeLanguage, .bridgeMessage:
            notify(message, isPublished: isPublished)
        case .playerError(let error):
            notify(message, isPublished: isPublished)
            raise(error)
        case .playerReady:
            isPlayerReady = true
            notify(message, isPublished: isPublished)
            report(message)
            updateReadiness()
        case .appLanguage(let language):
            notify(message, isPublished: isPublished)
            guard OverlayPayload.isLanguage(language) else {
                return raise(.bridgeConnectivity(level: .warning, reason: "“\(language)” is not a language tag"))
            }
            self.language = language
            report(message)
        case .appMessage, .playerTime, .playerMetadata, .playerState, .playerStage, .playerSpeed, .playerVolume,
            .playerMute, .playerVideoScale:
            notify(message, isPublished: isPublished)
            report(message)
        }
    }

    /// Sets the status of the overlay and reports it to all pages but `source`, which requested it.
    mutating func setStatus(
        _ status: OverlayStatus, isPublished: Bool = false, from source: OverlayPage.ID? = nil
    ) {
        guard status != self.status else { return }
        self.status = status
        notify(.bridgeAppStatus(status), isPublished: isPublished)
        report(.bridgeAppStatus(status), except: source)
        if status == .disabled { destroy(.disabled) }
    }

    // MARK: To pages

    /// Sends a message to all pages but `source`. A message that describes the state is kept for pages that connect
    /// later.
    mutating func report(_ message: OverlayMessage, except source: OverlayPage.ID? = nil) {
        do throws(OverlayWireError) {
            guard let report = try OverlayReport(message) else { return }
            if let name = OverlayEventName(rawValue: report.event), Self.replayed.contains(name) {
                lastReports[name] = report
            }
            guard !isPaused else { return }
            // A copy of the keys is iterated, because iterating over the pages themselves would copy them at the first
            // change.
            for id in Array(pages.keys) where id != source && pages[id]?.isListening == true { sendReport(id, report) }
        } catch {
            raise(.bridgeConnectivity(level: .warning, reason: "a message for the overlay is invalid: \(error)"))
        }
    }

    /// Sends a message to all pages that concerns the present moment only. See ``report(_:except:)``.
    mutating func broadcast(_ message: OverlayMessage) { report(message) }

    /// Queues a report for a page. If its queue is full, the page is closed.
    mutating func sendReport(_ id: OverlayPage.ID, _ report: OverlayReport) {
        guard var page = pages[id], page.closing == nil else { return }
        // The page is removed first, so that its queue is not shared and thus not copied by the change.
        pages[id] = nil
        let hasSpace = page.queue.add(report, epoch: epoch)
        pages[id] = page
        if hasSpace { outputs.append(.wake(id)) } else { close(id, .queueOverflowed) }
    }

    /// Sends a message to a page, if it receives messages and the overlay is not paused.
    mutating func sendMessage(_ id: OverlayPage.ID, _ message: OverlayMessage) {
        guard pages[id]?.isListening == true, !isPaused else { return }
        do throws(OverlayWireError) {
            if let report = try OverlayReport(message) { sendReport(id, report) }
        } catch {
            raise(.bridgeConnectivity(level: .warning, reason: "a message for the overlay is invalid: \(error)"))
        }
    }

    /// Sends the current state to a page that begins to receive messages.
    mutating func replay(to id: OverlayPage.ID) {
        begun.append(id)
        if lastReports[.appStatus] == nil {
            sendReport(id, OverlayReport(.appStatus, ["status": .string(status.rawValue)]))
        }
        for name in Self.replayed {
            if let report = lastReports[name] { sendReport(id, report) }
        }
    }

    /// Closes a page after its queued messages are sent; they are dropped if the queue was full.
    mutating func close(_ id: OverlayPage.ID, _ closing: OverlayClosing) {
        guard pages[id] != nil, pages[id]?.closing == nil else { return }
        pages[id]?.closing = closing
        pages[id]?.nextKeepAlive = nil
        if closing == .queueOverflowed { pages[id]?.queue.removeAll() }
        outputs.append(.wake(id))
    }
}
