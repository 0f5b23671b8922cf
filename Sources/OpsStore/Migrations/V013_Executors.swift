/// Operations may run on executors beside the runner: the executor of a policy and of a queue, and the job of an attempt in
/// the engine of its executor.
let v013 = Migration(
    version: 13,
    sql: """
        ALTER TABLE policy ADD COLUMN executor TEXT;
        ALTER TABLE queue ADD COLUMN executor TEXT;
        ALTER TABLE attempt ADD COLUMN job TEXT;
        """)
