import PCastJSON
import PCastMedia

/// What application, plugins and player say.
extension OverlayCore {
    /// Those that a page is told which comes later, in this order.
    private static let replayed: [OverlayEventName] = [
        .appStatus, .playerReady, .playerState, .playerTime, .playerVolume, .playerMute, .playerSpeed,
        .playerVideoScale,
        .playerControls, .appLanguage,
    ]

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
            settleReadiness()
        case .appLanguage(let language):
            notify(message, isPublished: isPublished)
            guard OverlayPayload.isLanguage(language) else {
                return raise(.bridgeConnectivity(level: .warning, reason: "“\(language)” is no language"))
            }
            self.language = language
            report(message)
        case .appMessage, .playerTime, .playerMetadata, .playerState, .playerStage, .playerSpeed, .playerVolume,
            .playerMute, .playerVideoScale:
            notify(message, isPublished: isPublished)
            report(message)
        }
    }

    /// - Parameter source: the page that asked for it, which knows.
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

    /// Tells all pages, and those that come later where it is something that lasts.
    mutating func report(_ message: OverlayMessage, except source: OverlayPage.ID? = nil) {
        do throws(OverlayWireError) {
            guard let report = try OverlayReport(message) else { return }
            if let name = OverlayEventName(rawValue: report.event), Self.replayed.contains(name) { told[name] = report }
            guard !isPaused else { return }
            // By their numbers: who walks over the pages themselves has them copied when one is changed.
            for id in Array(pages.keys) where id != source && pages[id]?.isListening == true { tell(id, report) }
        } catch {
            raise(.bridgeConnectivity(level: .warning, reason: "a message for the overlay is \(error)"))
        }
    }

    /// As ``report(_:except:)``, of what is of this moment only.
    mutating func broadcast(_ message: OverlayMessage) { report(message) }

    mutating func tell(_ id: OverlayPage.ID, _ report: OverlayReport) {
        guard var page = pages[id], page.closing == nil else { return }
        // Copied out, the queue would be copied as a whole.
        pages[id] = nil
        let hasRoom = page.queue.add(report, epoch: epoch)
        pages[id] = page
        if hasRoom { outputs.append(.wake(id)) } else { close(id, .fellBehind) }
    }

    mutating func tell(_ id: OverlayPage.ID, _ message: OverlayMessage) {
        guard pages[id]?.isListening == true, !isPaused else { return }
        do throws(OverlayWireError) {
            if let report = try OverlayReport(message) { tell(id, report) }
        } catch {
            raise(.bridgeConnectivity(level: .warning, reason: "a message for the overlay is \(error)"))
        }
    }

    /// What is so, for one who has just come.
    mutating func replay(to id: OverlayPage.ID) {
        begun.append(id)
        if told[.appStatus] == nil { tell(id, OverlayReport(.appStatus, ["status": .string(status.rawValue)])) }
        for name in Self.replayed {
            if let report = told[name] { tell(id, report) }
        }
    }

    /// What waits is still sent, unless it was too much.
    mutating func close(_ id: OverlayPage.ID, _ closing: OverlayClosing) {
        guard pages[id] != nil, pages[id]?.closing == nil else { return }
        pages[id]?.closing = closing
        pages[id]?.nextKeepAlive = nil
        if closing == .fellBehind { pages[id]?.queue.removeAll() }
        outputs.append(.wake(id))
    }
}
