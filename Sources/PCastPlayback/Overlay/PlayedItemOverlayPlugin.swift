import PCastJSON
public import PCastOverlay
import Synchronization

/// Reports the item that a player plays to the pages of an overlay, as the message `channel.item {name, number}`:
/// the name of its address for people, without directories and secrets, and the number of items so far. A page that
/// connects receives the current item.
public final class PlayedItemOverlayPlugin: OverlayPlugin {
    private struct State: Sendable {
        weak var overlay: Overlay?
        var following: Task<Void, Never>?
        /// The message about the current item; nil without one.
        var item: OverlayMessage?
        var number = 0
    }

    private let player: Player
    private let state = Mutex(State())

    /// Creates a plugin for a player.
    public init(_ player: Player) { self.player = player }

    deinit { state.withLock { $0.following }?.cancel() }

    /// Begins to follow the player.
    public func create(_ overlay: Overlay) {
        let events = player.events()
        let task = Task { [weak self] in
            for await event in events {
                if case .videoChanged(let video) = event.kind { self?.change(to: video) }
            }
        }
        state.withLock { ($0.overlay, $0.following) = (overlay, task) }
    }

    /// Ends following the player.
    public func destroy() {
        let task = state.withLock { state in
            defer { (state.overlay, state.following) = (nil, nil) }
            return state.following
        }
        task?.cancel()
    }

    /// Sends the current item to a page that connects.
    public func begin(_ page: OverlayPage.ID) {
        // The lock delays a change until after the current item.
        state.withLock { state in
            if let item = state.item { state.overlay?.post(item, to: page) }
        }
    }

    /// Sends the next item.
    private func change(to video: Video?) {
        state.withLock { state in
            guard let name = video?.preferredSource?.name else {
                state.item = nil
                return
            }
            state.number += 1
            // A page of another server does not learn the directories of this host.
            let shortName = name.split(separator: "/").last.map(String.init) ?? name
            let message: JSONObject = [
                "event": "channel.item",
                "metadata": ["name": .string(shortName), "number": .integer(Int64(state.number))],
            ]
            let item = OverlayMessage.appMessage(message.text)
            state.item = item
            state.overlay?.post(item)
        }
    }
}
