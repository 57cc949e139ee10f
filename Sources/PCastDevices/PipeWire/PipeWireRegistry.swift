import CPipeWire
import PCastCore
import PCastIO

/// The video sources of a PipeWire server, such as cameras, from the connection on.
///
/// The objects of the library are used on its thread, and after it has stopped.
final class PipeWireRegistry: @unchecked Sendable {
    /// A node that offers video.
    struct Node: Hashable, Sendable {
        /// The properties, such as `node.name`.
        var properties: [String: String] = [:]
        /// The formats, with their choices.
        var formats: [PipeWirePod] = []
    }

    /// The state that callers wait for.
    struct State: Sendable {
        /// The nodes, by their identifiers.
        var nodes: [UInt32: Node] = [:]
        /// Whether all nodes that were present at the connection are known with their properties and formats.
        var isComplete = false
        /// The number of changes after that.
        var changes = 0
        /// The reason for which the connection ended; nil while it is open.
        var end: String?
        /// Whether `interrupt` was called.
        var isInterrupted = false
    }

    /// The most nodes and formats of a node that are kept. A server has few.
    private static let mostNodes = 256
    private static let mostFormats = 256

    /// The parameter of a node's formats.
    private static let formats: UInt32 = 3

    private let connection: PipeWireConnection
    private let state: Monitor<State>
    private var registry: UnsafeMutableRawPointer?
    private var bound: [UInt32: BoundNode] = [:]
    /// The number of answers to synchronizations: the first one follows the list of objects, and the second one the
    /// properties of those that were bound.
    private var answers = 0
    private let hooks: UnsafeMutablePointer<cpw_hook>
    private let coreEvents: UnsafeMutablePointer<cpw_core_events>
    private let registryEvents: UnsafeMutablePointer<cpw_registry_events>

    /// Connects to the user's server. Throws `DeviceError.faulty` if there is none.
    init() throws(DeviceError) {
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
        if let registry { connection.calls.proxy_destroy(registry) }
        registry = nil
        connection.close()
    }

    /// Waits until `body` returns a value, or the deadline is reached.
    func wait<Result>(until deadline: Instant?, for body: (State) -> Result?) -> Result? {
        state.wait(until: deadline) { body($0) }
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
            guard let type, String(cString: type) == "PipeWire:Interface:Node" else { return }
            PipeWireRegistry.registry(data)?.added(id, PipeWireRegistry.properties(properties))
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
        guard properties["media.class"] == "Video/Source", bound.count < Self.mostNodes, let registry,
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
        cpw_node_list(proxy, Self.formats)
        // The answer reports the change, after the properties and the formats.
        if answers > 0 { cpw_core_synchronize(connection.core) }
    }

    private func removed(_ id: UInt32) {
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
