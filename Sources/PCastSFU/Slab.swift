import PCastCore

/// A container of values at stable addresses, identified by small numbers that are reused after a removal.
///
/// It is meant for noncopyable values that own memory, such as a viewer or a track. Reading a value neither copies it
/// nor counts a reference. The container grows in chunks, and its owner bounds it.
///
/// It is marked `@safe` for these reasons. It owns the chunks until `deinit`, and they never move. Each access checks that
/// the index has a value. A reference is used by the SFU that owns the container, on one thread, and not after the value
/// was removed.
@safe
struct Slab<Element: ~Copyable>: ~Copyable {
    private static var chunkSize: Int { 64 }
    private var chunks: [UnsafeMutablePointer<Element>] = unsafe []
    private var occupied: [Bool] = []
    private var free: [Int] = []

    /// The number of values.
    private(set) var count = 0

    init() {}

    deinit {
        for index in occupied.indices where occupied[index] {
            unsafe (chunks[index / Self.chunkSize] + index % Self.chunkSize).deinitialize(count: 1)
        }
        for index in unsafe chunks.indices { unsafe chunks[index].deallocate() }
    }

    /// One more than the highest number ever returned.
    var endIndex: Int { occupied.count }

    func contains(_ index: Int) -> Bool { index >= 0 && index < occupied.count && occupied[index] }

    mutating func insert(_ element: consuming Element) -> Int {
        let index: Int
        if let reused = free.popLast() {
            index = reused
        } else {
            index = occupied.count
            if unsafe index == chunks.count * Self.chunkSize {
                unsafe chunks.append(.allocate(capacity: Self.chunkSize))
            }
            occupied.append(false)
        }
        unsafe (chunks[index / Self.chunkSize] + index % Self.chunkSize).initialize(to: element)
        occupied[index] = true
        count += 1
        return index
    }

    mutating func remove(_ index: Int) -> Element {
        let pointer = unsafe pointer(index)
        occupied[index] = false
        free.append(index)
        count -= 1
        return unsafe pointer.move()
    }

    /// Returns a reference to a value, which is valid until the value is removed.
    func address(_ index: Int) -> MutableReference<Element> {
        unsafe MutableReference(pointer(index))
    }

    private func pointer(_ index: Int) -> UnsafeMutablePointer<Element> {
        precondition(contains(index), "there must be an entry at the index")
        return unsafe chunks[index / Self.chunkSize] + index % Self.chunkSize
    }

    /// The value in place. A `_read` accessor would copy its bits.
    subscript(index: Int) -> Element {
        unsafeAddress { unsafe UnsafePointer(pointer(index)) }
        unsafeMutableAddress { unsafe pointer(index) }
    }
}
