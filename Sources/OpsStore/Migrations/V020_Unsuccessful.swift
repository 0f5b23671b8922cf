/// An index of the operations that ran and did not succeed: few among very many, and often asked for.
let v020 = Migration(
    version: 20,
    sql: "CREATE INDEX operationUnsuccessful ON operation (outcome) WHERE outcome IN (1, 2, 5);\n")
