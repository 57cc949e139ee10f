import PCastCore
import PCastSFU

/// An event stream of a WHEP session: the events of the types that its client selected
/// (`urn:ietf:params:whep:ext:core:server-sent-events`).
///
/// Events wait until the client reads them. If too many wait, the oldest are dropped. One request reads at a time: a new
/// one takes over from the former one, whose connection may be lost.
actor SessionEventStream {
    /// The maximum number of waiting events.
    private static let capacity = 64
    /// The interval at which layers and the number of viewers are read. Both may be approximate (viewercount event of the
    /// extension).
    private static let refreshInterval = Duration.seconds(2)

    private let types: Set<SessionEventType>
    private let peer: PeerID
    private let videoSection: String
    private let directory: StreamDirectory
    private var waiting: [String] = []
    private var reader: (number: Int, continuation: AsyncStream<String>.Continuation)?
    private var readerCount = 0
    private var tasks: [Task<Void, Never>] = []
    private var isEnded = false
    private var isActive: Bool?
    private var layers: [VideoLayer]?
    private var viewerCount: Int?

    /// Creates the event stream of a session, which does not receive events yet; see ``start(_:)``.
    init(_ types: Set<SessionEventType>, of resource: WebRTCResource, _ directory: StreamDirectory) {
        self.types = types
        peer = resource.peerSession.peer
        videoSection = resource.videoSection
        self.directory = directory
    }

    /// Begins to receive events until the session ends.
    func start(_ updates: AsyncStream<StreamUpdate>) {
        guard !isEnded else { return }
        tasks.append(
            Task {
                for await update in updates { receive(update) }
                end()
            })
        guard types.contains(.layers) || types.contains(.viewerCount) else { return }
        tasks.append(
            Task {
                repeat { await refresh() } while (try? await Task.sleep(for: Self.refreshInterval)) != nil
            })
    }

    /// Returns the waiting events and those that follow. The former reader receives no more.
    func read() -> AsyncStream<String> {
        let (events, continuation) = AsyncStream.makeStream(
            of: String.self, bufferingPolicy: .bufferingNewest(Self.capacity))
        reader?.continuation.finish()
        reader = nil
        guard !isEnded else {
            continuation.finish()
            return events
        }
        readerCount += 1
        let number = readerCount
        reader = (number, continuation)
        continuation.onTermination = { [weak self] _ in
            Task { [weak self] in await self?.removeReader(number) }
        }
        for event in waiting { continuation.yield(event) }
        waiting = []
        return events
    }

    /// Ends the event stream. Waiting events are dropped, and the reader receives those that it has not read yet.
    func end() {
        isEnded = true
        waiting = []
        reader?.continuation.finish()
        reader = nil
        for task in tasks { task.cancel() }
        tasks = []
    }

    private func removeReader(_ number: Int) {
        if reader?.number == number { reader = nil }
    }

    private func receive(_ update: StreamUpdate) {
        if case .activity(let isActive) = update {
            guard self.isActive != isActive else { return }
            self.isActive = isActive
        }
        let (type, text) = StreamEvents.event(update)
        add(type, text)
    }

    private func add(_ type: SessionEventType, _ text: String) {
        guard !isEnded, types.contains(type) else { return }
        if let reader {
            reader.continuation.yield(text)
        } else {
            if waiting.count == Self.capacity { waiting.removeFirst() }
            waiting.append(text)
        }
    }

    private struct ViewerCount: Encodable { let viewercount: Int }

    private func refresh() async {
        if types.contains(.viewerCount), let count = await directory.viewerCount(viewedBy: peer), count != viewerCount {
            viewerCount = count
            add(.viewerCount, StreamEvents.text(.viewerCount, StreamEvents.json(ViewerCount(viewercount: count))))
        }
        if types.contains(.layers), let viewed = await directory.layers(viewedBy: peer) {
            let current = viewed.layers.map { VideoLayer($0) }
            guard VideoLayer.isChange(from: layers, to: current) else { return }
            layers = current
            add(.layers, StreamEvents.text(.layers, StreamEvents.json([videoSection: current])))
        }
    }
}

/// A layer of the video, as the event `layers` contains it.
struct VideoLayer: Encodable, Hashable, Sendable {
    let rid: String
    /// The bit rate in bit/s; nil if the layer does not arrive.
    let bitrate: Int64?
    let width: Int?
    let height: Int?
    /// Whether the layer arrives, or would arrive if a viewer wanted it.
    let active: Bool

    init(_ layer: ViewedLayers.Layer) {
        rid = layer.name
        bitrate = layer.isAvailable ? layer.bitrate?.bitsPerSecond : nil
        width = layer.dimensions?.width
        height = layer.dimensions?.height
        active = layer.isAvailable
    }

    /// Returns whether layers differ in more than bit rates that have changed by at most a fifth.
    static func isChange(from old: [VideoLayer]?, to new: [VideoLayer]) -> Bool {
        guard let old, old.count == new.count else { return true }
        return zip(old, new).contains { before, after in
            guard (before.rid, before.width, before.height) == (after.rid, after.width, after.height),
                before.active == after.active, (before.bitrate == nil) == (after.bitrate == nil)
            else { return true }
            guard let past = before.bitrate, let present = after.bitrate else { return false }
            return (present - past).magnitude > past.magnitude / 5
        }
    }
}
