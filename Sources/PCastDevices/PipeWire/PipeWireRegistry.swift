import CPipeWire
import PCastCore
import PCastIO

/// The nodes of a PipeWire server that offer video or audio, such as cameras and outputs, from the connection on.
///
/// The objects of the library are used on its thread, and after it has stopped.
final class PipeWireRegistry: @unchecked Sendable {
    /// The nodes that are reported.
    enum Interest: Hashable, Sendable {
        /// Video sources, with their formats.
        case cameras
        /// Outputs, microphones and programs that play, and the clients of the server, which have the names of the programs.
        case audio

        /// The values of `media.class`.
        fileprivate var classes: Set<String> {
            switch self {
            case .cameras: ["Video/Source"]
            case .audio: ["Audio/Sink", "Audio/Source", "Audio/Source/Virtual", "Stream/Output/Audio"]
            }
        }
    }

    /// A node that offers video or audio.
    struct Node: Hashable, Sendable {
        /// The properties, such as `node.name`.
        var properties: [String: String] = [:]
        /// The formats of a video source, with their choices.
        var formats: [PipeWirePod] = []
    }

    /// The state that callers wait for.
    struct State: Sendable {
        /// The nodes, by their identifiers.
        var nodes: [UInt32: Node] = [:]
        /// The properties of the clients, by their identifiers, if audio is reported.
        var clients: [UInt32: [String: String]] = [:]
        /// Whether all nodes that were present at the connection are known with their properties and formats.
        var isComplete = false
        /// The number of changes of nodes after that.
        var changes = 0
        /// The number of changes of the properties of clients. A list of devices makes one, because it is a client, too.
        var clientChanges = 0
        /// The reason for which the connection ended; nil while it is open.
        var end: String?
        /// Whether `interrupt` was called.
        var isInterrupted = false
    }

    /// The most nodes, clients, and formats of a node that are kept. A server has few.
    private static let mostNodes = 256
    private static let mostClients = 256
    private static let mostFormats = 256

    /// The parameter of a node's formats.
    private static let formats: UInt32 = 3

    private let interest: Interest
    private let connection: PipeWireConnection
    private let state: Monitor<State>
    private var registry: UnsafeMutableRawPointer?
    private var bound: [UInt32: BoundNode] = [:]
    private var clients: [UInt32: BoundClient] = [:]
    /// The number of answers to synchronizations: the first one follows the list of objects, and the second one the
    /// properties of those that were bound.
    private var answers = 0
    private let hooks: UnsafeMutablePointer<cpw_hook>
    private let coreEvents: UnsafeMutablePointer<cpw_core_events>
    private let registryEvents: UnsafeMutablePointer<cpw_registry_events>

    /// Connects to the user's server. Throws `DeviceError.faulty` if there is none.
    init(_ interest: Interest) throws(DeviceError) {
        self.interest = interest
        connection = try PipeWireConnection("PipeWire")
        state = Monitor(State())
        hooks = .allocate(capacity: 2)
        hooks.initialize(repeating: cpw_hook(), count: 2)
        coreEvents = .allocate(capacity: 1)
        coreEvents.initialize(to: Self.coreListeners)
        registryEvents = .allocate(capacity: 1)
        registryEvents.initialize(to: Self.registryListeners)
        let own = Unmanaged.passUnretained(self).toOpaque()
        cpw_core_listen(connection.core, hooks, coreEvents, own)
        registry = cpw_core_registry(connection.core)
        guard let registry else { throw .faulty("PipeWire", reason: "there is not enough memory.") }
        cpw_registry_listen(registry, hooks + 1, registryEvents, own)
        cpw_core_synchronize(connection.core)
        guard connection.start() else { throw .faulty("PipeWire", reason: "its thread could not be started.") }
    }

    deinit {
        close()
        hooks.deallocate()
        coreEvents.deallocate()
        registryEvents.deallocate()
    }

    /// Closes the connection, and waits for the library's thread. It must not be called on that thread.
    func close() {
        connection.stop()
        bound = [:]
        clients = [:]
        if let registry { connection.calls.proxy_destroy(registry) }
        registry = nil
        connection.close()
    }

    /// Waits until `body` returns a value, or the deadline is reached.
    func wait<Result>(until deadline: Instant?, for body: (State) -> Result?) -> Result? {
        state.wait(until: deadline) { body($0) }
    }

    /// The current state.
    var current: State { state.withLock { state, _ in state } }

    /// The number of changes of nodes and clients, and the reason for which the connection ended.
    var progress: (changes: Int, end: String?) {
        state.withLock { state, _ in (state.changes + state.clientChanges, state.end) }
    }

    /// Ends the waiting of other threads, which read `isInterrupted`.
    func interrupt() {
        change { $0.isInterrupted = true }
    }

    private func change(_ body: (inout State) -> Void) {
        state.withLock { state, condition in
            body(&state)
            condition.wakeAll()
        }
    }

    // MARK: Events of the server

    private static func registry(_ data: UnsafeMutableRawPointer?) -> PipeWireRegistry? {
        data.map { Unmanaged<PipeWireRegistry>.fromOpaque($0).takeUnretainedValue() }
    }

    private static var coreListeners: cpw_core_events {
        var events = cpw_core_events()
        events.done = { data, _, _ in PipeWireRegistry.registry(data)?.answered() }
        events.error = { data, id, _, _, message in
            // Errors of other objects concern nodes that were removed in the meantime.
            guard id == 0 else { return }
            let reason = message.map { String(cString: $0) } ?? "the connection to the PipeWire server was lost"
            PipeWireRegistry.registry(data)?.change { $0.end = $0.end ?? reason }
        }
        return events
    }

    private static var registryListeners: cpw_registry_events {
        var events = cpw_registry_events()
        events.added = { data, id, _, type, _, properties in
            guard let type, let registry = PipeWireRegistry.registry(data) else { return }
            switch String(cString: type) {
            case "PipeWire:Interface:Node": registry.added(id, PipeWireRegistry.properties(properties))
            case "PipeWire:Interface:Client": registry.clientAdded(id)
            default: break
            }
        }
        events.removed = { data, id in PipeWireRegistry.registry(data)?.removed(id) }
        return events
    }

    /// The most properties of a node that are read.
    private static let mostProperties = 256

    fileprivate static func properties(_ dictionary: UnsafePointer<cpw_properties>?) -> [String: String] {
        guard let dictionary, let first = dictionary.pointee.properties else { return [:] }
        let all = UnsafeBufferPointer(start: first, count: min(mostProperties, Int(dictionary.pointee.count)))
        var properties: [String: String] = [:]
        for property in all {
            guard let key = property.key, let value = property.value else { continue }
            properties[String(cString: key)] = String(cString: value)
        }
        return properties
    }

    private func answered() {
        answers += 1
        if answers == 1 { return cpw_core_synchronize(connection.core) }
        change { state in
            if state.isComplete { state.changes += 1 }
            state.isComplete = true
        }
    }

    private func added(_ id: UInt32, _ properties: [String: String]) {
        guard interest.classes.contains(properties["media.class"] ?? ""), bound.count < Self.mostNodes, let registry,
            let proxy = cpw_registry_bind_node(registry, id)
        else { return }
        change { $0.nodes[id] = Node(properties: properties) }
        bound[id] = BoundNode(
            proxy, connection.calls,
            properties: { [weak self] properties in
                self?.change { $0.nodes[id]?.properties.merge(properties) { _, new in new } }
            },
            format: { [weak self] pod in
                self?.change { state in
                    guard let node = state.nodes[id], node.formats.count < Self.mostFormats else { return }
                    state.nodes[id]?.formats.append(pod)
                }
            })
        if interest == .cameras { cpw_node_list(proxy, Self.formats) }
        // The answer reports the change, after the properties and the formats.
        if answers > 0 { cpw_core_synchronize(connection.core) }
    }

    private func clientAdded(_ id: UInt32) {
        guard interest == .audio, clients.count < Self.mostClients, let registry,
            let proxy = cpw_registry_bind_client(registry, id)
        else { return }
        clients[id] = BoundClient(proxy, connection.calls) { [weak self] properties in
            self?.change { state in
                state.clients[id] = properties
                state.clientChanges += 1
            }
        }
    }

    private func removed(_ id: UInt32) {
        if clients.removeValue(forKey: id) != nil { return change { $0.clients[id] = nil } }
        guard bound.removeValue(forKey: id) != nil else { return }
        change { state in
            state.nodes[id] = nil
            if state.isComplete { state.changes += 1 }
        }
    }
}

/// The proxy of a node, which reports its properties and formats. It is released on the library's thread, or after it has
/// stopped.
private final class BoundNode {
    private let proxy: UnsafeMutableRawPointer
    private let calls: cpw_library
    private let properties: ([String: String]) -> Void
    private let format: (PipeWirePod) -> Void
    private let hook: UnsafeMutablePointer<cpw_hook>
    private let events: UnsafeMutablePointer<cpw_node_events>

    init(
        _ proxy: UnsafeMutableRawPointer, _ calls: cpw_library, properties: @escaping ([String: String]) -> Void,
        format: @escaping (PipeWirePod) -> Void
    ) {
        (self.proxy, self.calls, self.properties, self.format) = (proxy, calls, properties, format)
        hook = .allocate(capacity: 1)
        hook.initialize(to: cpw_hook())
        events = .allocate(capacity: 1)
        events.initialize(to: Self.listeners)
        cpw_node_listen(proxy, hook, events, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit {
        calls.proxy_destroy(proxy)
        hook.deallocate()
        events.deallocate()
    }

    private static func node(_ data: UnsafeMutableRawPointer?) -> BoundNode? {
        data.map { Unmanaged<BoundNode>.fromOpaque($0).takeUnretainedValue() }
    }

    private static var listeners: cpw_node_events {
        var events = cpw_node_events()
        events.info = { data, info in
            guard let info else { return }
            BoundNode.node(data)?.properties(PipeWireRegistry.properties(info.pointee.properties))
        }
        events.parameter = { data, _, _, _, _, parameter in
            guard let parameter else { return }
            // The library has validated the size of the object.
            let size = Int(parameter.loadUnaligned(as: UInt32.self)) + 8
            let bytes = UnsafeRawBufferPointer(start: parameter, count: size)
            if let pod = PipeWirePod(bytes, keepsChoices: true) { BoundNode.node(data)?.format(pod) }
        }
        return events
    }
}

/// The proxy of a client of the server, which reports its properties. It is released on the library's thread, or after it has
/// stopped.
private final class BoundClient {
    private let proxy: UnsafeMutableRawPointer
    private let calls: cpw_library
    private let properties: ([String: String]) -> Void
    private let hook: UnsafeMutablePointer<cpw_hook>
    private let events: UnsafeMutablePointer<cpw_client_events>

    init(
        _ proxy: UnsafeMutableRawPointer, _ calls: cpw_library, properties: @escaping ([String: String]) -> Void
    ) {
        (self.proxy, self.calls, self.properties) = (proxy, calls, properties)
        hook = .allocate(capacity: 1)
        hook.initialize(to: cpw_hook())
        events = .allocate(capacity: 1)
        events.initialize(to: cpw_client_events())
        events.pointee.info = { data, info in
            guard let data, let info else { return }
            let client = Unmanaged<BoundClient>.fromOpaque(data).takeUnretainedValue()
            client.properties(PipeWireRegistry.properties(info.pointee.properties))
        }
        cpw_client_listen(proxy, hook, events, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit {
        calls.proxy_destroy(proxy)
        hook.deallocate()
        events.deallocate()
    }
}
